//! Both READMEs say the same: headings, commands and links are those of each other.

use std::fs;
use std::path::Path;

fn page(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap()
}

/// The levels of the headings, in order.
fn headings(page: &str) -> Vec<usize> {
    let mut is_code = false;
    let mut levels = vec![];
    for line in page.lines() {
        is_code ^= line.starts_with("```");
        let level = line.chars().take_while(|letter| *letter == '#').count();
        if !is_code && level > 0 && line[level..].starts_with(' ') {
            levels.push(level);
        }
    }
    levels
}

/// The lines inside of code blocks, without comments, which are in the language of the page.
fn code(page: &str) -> Vec<&str> {
    let mut is_code = false;
    let mut lines = vec![];
    for line in page.lines() {
        if line.starts_with("```") {
            is_code = !is_code;
            lines.push(line);
        } else if is_code {
            let command = line.split_once("  #").map_or(line, |(command, _)| command);
            lines.push(command.trim_end());
        }
    }
    lines
}

/// What stands between these two outside of code blocks, sorted: the order within a sentence is the language's.
fn between<'page>(page: &'page str, open: &str, close: &str) -> Vec<&'page str> {
    let mut found = vec![];
    let mut is_code = false;
    for line in page.lines() {
        is_code ^= line.starts_with("```");
        let mut rest = if is_code { "" } else { line };
        while let Some((_, behind)) = rest.split_once(open) {
            let Some((inside, after)) = behind.split_once(close) else { break };
            found.push(inside);
            rest = after;
        }
    }
    found.sort_unstable();
    found
}

#[test]
fn both_readmes_have_the_same_headings_commands_and_links() {
    let (english, chinese) = (page("README.md"), page("README.zh-CN.md"));
    assert!(headings(&english).len() > 5 && code(&english).len() > 20);
    assert_eq!(headings(&english), headings(&chinese), "headings by level");
    assert_eq!(code(&english), code(&chinese), "code blocks without their comments");
    let links = |page| -> Vec<String> {
        let each = between(page, "](", ")").into_iter().filter(|link| !link.starts_with("README"));
        each.map(str::to_owned).collect()
    };
    assert!(links(&english).len() > 15);
    assert_eq!(links(&english), links(&chinese), "links");
    let commands = |page| -> Vec<String> { between(page, "`", "`").into_iter().map(str::to_owned).collect() };
    assert_eq!(commands(&english), commands(&chinese), "what stands in backticks");
}

#[test]
fn the_chinese_readme_uses_the_words_that_engineers_use() {
    let chinese = page("README.zh-CN.md");
    for words in [
        "终端 2：查看输出",
        "一行命令接入 Claude Code",
        "无终端运行（headless）",
        "文件位置",
        "审批权限请求",
        "下达指令",
        "模块划分",
        "暂不支持",
        "审计日志",
    ] {
        assert!(chinese.contains(words), "{words}");
    }
}
