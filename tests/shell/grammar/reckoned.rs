//! A command that is hidden in a value, and runs when a shell reckons with that value or shows it as a prompt.

use super::super::rng::Rng;
use super::stdin::fill;
use super::{Family, Stage};

/// How the value gets into `x`. The marks are those of [`fill`]; `{O}` is the text in octal escapes.
const HIDDEN: [&str; 19] = [
    "x=$(rev <<<{R})",
    "x=`rev <<<{R}`",
    "x=$(base64 -d <<<'{6}')",
    "x=$(printf '{X}')",
    "x=$(tr A-Z a-z <<<{U})",
    "x=$(sed s/Z// <<<{Z})",
    "x=$(cat <<<{Q})",
    "x=$(echo {Q})",
    "printf -v x '{X}'",
    "time printf -v x '{X}'",
    "command -p printf -v x '{X}'",
    "read -r x <<<{Q}",
    "read -r x < <(rev <<<{R})",
    "rev <<<{R} > f; x=$(<f)",
    "rev <<<{R} > f; read -r x < f",
    "mapfile -t x < <(rev <<<{R})",
    "for x in \"$(rev <<<{R})\"; do :; done",
    "y=$(rev <<<{R}); x=$y",
    "x={Q}",
];

/// How a shell reckons with it.
const RECKONED: [&str; 36] = [
    "echo $((x))",
    "echo \"$((x + 1))\"",
    "echo $(($x))",
    "echo $[x]",
    "((x))",
    "(( y = x * 2 ))",
    "let y=x",
    "let \"y = $x\"",
    "declare -i y=$x",
    "declare -i y; y=$x",
    "declare -i y; read -r y <<<\"$x\"",
    "f() { local -i y=$x; }; f",
    "echo ${a[x]}",
    "echo ${a[$x]}",
    "a[x]=1",
    "a[$x]=1",
    "a=([x]=1)",
    "[[ x -eq 1 ]]",
    "[[ $x -eq 1 ]]",
    "[[ 1 -lt $x ]]",
    "if [[ $x -gt 2 ]]; then :; fi",
    "test -v \"$x\"",
    "[ -v \"$x\" ]",
    "[[ -v $x ]]",
    "printf -v \"$x\" 1",
    "read -r \"$x\" <<<1",
    "y=abc; echo ${y:x}",
    "y=abc; echo ${y:0:$x}",
    "set -- 1 2; echo ${@:x}",
    "for ((i=x; i<1; i++)); do :; done",
    "declare \"$x=1\"",
    "echo ${!x}",
    "declare -n r=$x; echo $r",
    "RANDOM=$x",
    "y=x; echo $((y))",
    "set -- \"$x\"; echo $(($1))",
];

/// What shows it as a prompt: there the command needs no index around it, and is decoded first.
const SHOWN: [&str; 4] =
    ["echo \"${x@P}\"", "PS4=$x; set -x; :", "PS0=\"$x\" bash --norc -i <<<:", "compgen -W \"$x\""];

/// A value that a prompt alone decodes.
const DECODED: &str = "x='{O}'";

pub(super) const FAMILY: Family = Family { size: || HIDDEN.len() * 2 + (RECKONED.len() + SHOWN.len()) * 2 + 3, apply };

fn apply(at: usize, rng: &mut Rng, stage: &Stage) -> Option<(Stage, String)> {
    let text = stage.text();
    if text.contains('\n') {
        return None;
    }
    let systematic = HIDDEN.len() + RECKONED.len() + SHOWN.len();
    // Each way to hide it with a plain expression, each expression with a plain way to hide it, and any two.
    let (hidden, way) = match at {
        at if at < HIDDEN.len() => (HIDDEN[at], RECKONED[0]),
        at if at < HIDDEN.len() + RECKONED.len() => (HIDDEN[0], RECKONED[at - HIDDEN.len()]),
        at if at < systematic => (HIDDEN[0], SHOWN[at - HIDDEN.len() - RECKONED.len()]),
        at if at < systematic + 3 => (DECODED, SHOWN[at - systematic]),
        _ if rng.chance(8) => (*rng.pick(&HIDDEN), *rng.pick(&SHOWN)),
        _ => (*rng.pick(&HIDDEN), *rng.pick(&RECKONED)),
    };
    if hidden.contains("{U}") && text.chars().any(|c| c.is_ascii_uppercase()) {
        return None;
    }
    let command = format!("$({text})");
    let value = if SHOWN.contains(&way) { command } else { format!("a[{command}]") };
    let octal: String = value.bytes().map(|byte| format!("\\{byte:03o}")).collect();
    let line = format!("{}; {way}", fill(&hidden.replace("{O}", &octal), &value));
    Some((Stage::Script(line), format!("{hidden} → {way}")))
}
