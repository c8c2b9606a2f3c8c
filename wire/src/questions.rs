//! The questions of an agent, and the answers that people give: read in one place for every door.

use std::collections::{BTreeMap, BTreeSet};

use portcullis_core::{AskKind, Details, visible};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// Answers as a caller gives them.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(untagged)]
pub enum GivenAnswers {
    /// `{"QUESTION": "LABEL"}`
    ByQuestion(BTreeMap<String, String>),
    /// As people type them: `LABEL` or the number of an option where there is one question, else `QUESTION=LABEL`.
    Typed(Vec<String>),
}

/// All questions of one prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Questions(pub Vec<AgentQuestion>);

/// One question of the agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentQuestion {
    pub text: String,
    pub labels: Vec<String>,
    /// Several options may be chosen.
    pub several: bool,
}

impl AgentQuestion {
    /// What is answered with this line: a label, the number of an option, or words of one's own; or what is wrong with it.
    pub fn answer(&self, line: &str) -> Result<String, String> {
        if let Some(number) = self.number_without_option(line) {
            return Err(format!("there is no option {number}: {}", self.in_words()));
        }
        let label = |word: &str| {
            let named = self.labels.iter().find(|label| label.eq_ignore_ascii_case(word));
            let number = word.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
            let chosen = named.or_else(|| self.labels.get(number?));
            chosen.map_or_else(|| word.to_owned(), String::clone)
        };
        let line = line.trim();
        let is_label = self.labels.iter().any(|label| label.eq_ignore_ascii_case(line));
        let answer = match self.several && !is_label {
            true => line.split(',').map(|word| label(word.trim())).collect::<Vec<_>>().join(", "),
            false => label(line),
        };
        match answer.trim().is_empty() {
            true => Err(format!("the answer to {:?} is empty", self.text)),
            false => Ok(answer),
        }
    }

    /// A number in the line that is none of an option. Words of one's own are not numbers.
    fn number_without_option(&self, line: &str) -> Option<usize> {
        let is_label = |word: &str| self.labels.iter().any(|label| label.eq_ignore_ascii_case(word));
        let words = line.split(',').map(str::trim).filter(|word| !is_label(line.trim()) && !is_label(word));
        let mut numbers = words.filter_map(|word| word.parse::<usize>().ok());
        numbers.find(|number| !self.labels.is_empty() && !(1..=self.labels.len()).contains(number))
    }

    /// `"Which colour?" (1 Red, 2 Blue)`, for people.
    pub fn in_words(&self) -> String {
        let options = self.labels.iter().enumerate().map(|(index, label)| format!("{} {label}", index + 1));
        let options = options.collect::<Vec<_>>().join(", ");
        let several = if self.several { "; several with commas between" } else { "" };
        visible(&format!("{:?} ({options}{several})", self.text))
    }
}

impl Questions {
    /// The questions in the input of a call.
    pub fn of(input: &Value) -> Self {
        let read = |question: &Value| {
            let labels = question["options"].as_array().into_iter().flatten();
            Some(AgentQuestion {
                text: question["question"].as_str()?.to_owned(),
                labels: labels.filter_map(|option| Some(option["label"].as_str()?.to_owned())).collect(),
                several: question["multiSelect"] == true,
            })
        };
        Self(input["questions"].as_array().into_iter().flatten().filter_map(read).collect())
    }

    /// An answer to every question, in the client's form, or what is wrong with those that were given.
    pub fn read(&self, given: &GivenAnswers) -> Result<Map<String, Value>, String> {
        self.can_be_answered()?;
        let mut answers = Map::new();
        let mut put = |question: &AgentQuestion, line: &str| {
            let answer = question.answer(line)?;
            let answer = match answers.get(&question.text).and_then(Value::as_str) {
                Some(before) if question.several => format!("{before}, {answer}"),
                Some(_) => return Err(format!("{} is answered twice, and takes one answer", question.in_words())),
                None => answer,
            };
            answers.insert(question.text.clone(), answer.into());
            Ok(())
        };
        match given {
            GivenAnswers::ByQuestion(given) => {
                for (name, line) in given {
                    let question = self.named(name).ok_or_else(|| self.no_question(name))?;
                    put(question, line)?;
                }
            }
            GivenAnswers::Typed(given) => {
                for typed in given {
                    let (question, line) = self.split(typed)?;
                    put(question, line)?;
                }
            }
        }
        self.complete(answers)
    }

    /// The same from a form, by the places of the questions. Nothing is read as the number of an option: a form has the
    /// options to choose from.
    pub fn filled_in(&self, given: impl Fn(usize) -> Option<String>) -> Result<Map<String, Value>, String> {
        self.can_be_answered()?;
        let answer = |(place, question): (usize, &AgentQuestion)| Some((question.text.clone(), given(place)?.into()));
        self.complete(self.0.iter().enumerate().filter_map(answer).collect())
    }

    fn can_be_answered(&self) -> Result<(), String> {
        if self.0.is_empty() {
            return Err("this prompt asks no questions".to_owned());
        }
        let mut asked = BTreeSet::new();
        match self.0.iter().find(|question| !asked.insert(&question.text)) {
            // An answer goes to its question by the question's words.
            Some(twice) => Err(format!("{:?} is asked twice, so that no answer fits: deny it", twice.text)),
            None => Ok(()),
        }
    }

    fn complete(&self, answers: Map<String, Value>) -> Result<Map<String, Value>, String> {
        let missing: Vec<String> =
            self.0.iter().filter(|asked| !answers.contains_key(&asked.text)).map(AgentQuestion::in_words).collect();
        match missing.is_empty() {
            true => Ok(answers),
            false => Err(format!("not answered: {}", missing.join("; "))),
        }
    }

    fn named(&self, name: &str) -> Option<&AgentQuestion> {
        let number = || name.trim().parse::<usize>().ok()?.checked_sub(1);
        let exactly = self.0.iter().find(|question| question.text.trim() == name.trim());
        exactly.or_else(|| self.0.get(number()?))
    }

    /// `QUESTION=LABEL` at whichever sign the left side is a question; else, where there is just one, the whole is its
    /// answer, unless it begins with another question.
    fn split<'a>(&self, typed: &'a str) -> Result<(&AgentQuestion, &'a str), String> {
        let exactly = |name: &str| self.0.iter().find(|question| question.text.trim() == name.trim());
        let signs = || typed.match_indices('=').map(|(place, _)| (&typed[..place], &typed[place + 1..]));
        if let Some(found) = signs().find_map(|(name, label)| Some((exactly(name)?, label))) {
            return Ok(found);
        }
        let is_of_another = |(name, _): (&str, &str)| self.named(name).is_some() || name.trim_end().ends_with('?');
        if let [only] = self.0.as_slice()
            && !signs().any(is_of_another)
        {
            return Ok((only, typed));
        }
        let (name, label) = typed.split_once('=').ok_or_else(|| {
            format!("there are several questions, and {typed:?} names none; the questions are: {}", self.in_words())
        })?;
        let question =
            self.named(name).ok_or_else(|| self.no_question(typed.rsplit_once('=').map_or(name, |s| s.0)))?;
        Ok((question, label))
    }

    fn no_question(&self, name: &str) -> String {
        visible(&format!("there is no question {name:?}; the questions are: {}", self.in_words()))
    }

    /// All of them with their options, for people.
    pub fn in_words(&self) -> String {
        self.0.iter().map(AgentQuestion::in_words).collect::<Vec<_>>().join("; ")
    }

    /// How the prompt with this code is answered from the command line.
    pub fn how_to_answer(&self, code: &str) -> String {
        match self.0.as_slice() {
            [only] if only.several && only.labels.len() > 1 => {
                format!("`portcullis ask allow {code} --answer 1,2`, or labels with commas between, or your own words")
            }
            [only] if !only.labels.is_empty() => {
                format!("`portcullis ask allow {code} --answer 1`, or its label, or your own words")
            }
            [_] => format!("`portcullis ask allow {code} --answer 'your own words'`"),
            all => {
                let several = all.iter().any(|question| question.several && question.labels.len() > 1);
                let several = if several { ", with commas between labels where several may be chosen" } else { "" };
                format!(
                    "`portcullis ask allow {code} --answer 1=LABEL --answer 2=LABEL`, one for each question{several}"
                )
            }
        }
    }
}

/// How a prompt is allowed from the command line, in words that follow what it asks.
pub fn how_to_allow(details: &Details, code: &str) -> String {
    let input = details.input.as_ref().and_then(|input| serde_json::from_str(input.as_str()).ok());
    how_to_allow_input(details.kind, &input.unwrap_or_default(), code)
}

/// The same of a prompt whose input has been read.
pub(crate) fn how_to_allow_input(kind: AskKind, input: &Value, code: &str) -> String {
    if kind != AskKind::Question {
        return format!("`portcullis ask allow {code}` allows it");
    }
    match Questions::of(input) {
        questions if questions.0.is_empty() => format!("`portcullis ask show {code}` says how it is answered"),
        questions => format!("answer it with {}", questions.how_to_answer(code)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use serde_json::json;

    #[test]
    fn questions_of_the_same_words_cannot_be_answered() {
        let one = json!({"question": "Go on?", "options": [{"label": "keep"}, {"label": "delete"}]});
        let twice = Questions::of(&json!({"questions": [one, one]}));
        let given = GivenAnswers::ByQuestion([("Go on?".to_owned(), "delete".to_owned())].into());
        assert!(twice.read(&given).unwrap_err().contains("asked twice"));
    }

    fn questions(count: usize) -> Questions {
        let one = json!({"question": "Which store = state?", "multiSelect": false,
                         "options": [{"label": "Postgres"}, {"label": "SQLite"}]});
        let two = json!({"question": "Which checks?", "multiSelect": true,
                         "options": [{"label": "fmt"}, {"label": "clippy"}, {"label": "3"}]});
        let asked: Vec<Value> = [one, two].into_iter().take(count).collect();
        Questions::of(&json!({"questions": asked}))
    }

    fn typed(count: usize, given: &[&str]) -> String {
        let given = GivenAnswers::Typed(given.iter().map(|given| (*given).to_owned()).collect());
        questions(count).read(&given).map_or_else(|error| error, |answers| Value::Object(answers).to_string())
    }

    #[test]
    fn one_question_takes_a_label_a_number_or_own_words() {
        for (given, want) in [
            ("SQLite", "SQLite"),
            ("sqlite", "SQLite"),
            ("2", "SQLite"),
            ("Which store = state?=2", "SQLite"),
            ("1=2", "SQLite"),
            ("flat files", "flat files"),
            ("use VAR=1 instead", "use VAR=1 instead"),
            ("a=b=c", "a=b=c"),
        ] {
            assert_eq!(typed(1, &[given]), json!({"Which store = state?": want}).to_string(), "{given}");
        }
        assert_eq!(typed(1, &["7"]), "there is no option 7: \"Which store = state?\" (1 Postgres, 2 SQLite)");
    }

    #[test]
    fn several_options_are_chosen_with_commas_and_a_label_comes_before_a_number() {
        assert!(typed(2, &["1=1", "2=1, clippy,3"]).contains("fmt, clippy, 3"));
        assert!(typed(2, &["1=1", "2=fmt", "2=2"]).contains("fmt, clippy"), "or one after the other");
        let how = questions(2).how_to_answer("abcde");
        assert!(
            how.ends_with("one for each question, with commas between labels where several may be chosen"),
            "{how}"
        );
    }

    #[test]
    fn what_names_no_question_or_leaves_one_out_is_refused_with_the_questions() {
        let refused = [
            typed(1, &["Which database?=SQLite"]),
            typed(2, &["SQLite"]),
            typed(2, &["1=SQLite"]),
            typed(1, &["1", "2"]),
            typed(1, &[" "]),
            Questions::default().read(&GivenAnswers::Typed(vec![])).unwrap_err(),
        ];
        expect![[r#"
            there is no question "Which database?"; the questions are: "Which store = state?" (1 Postgres, 2 SQLite)
            there are several questions, and "SQLite" names none; the questions are: "Which store = state?" (1 Postgres, 2 SQLite); "Which checks?" (1 fmt, 2 clippy, 3 3; several with commas between)
            not answered: "Which checks?" (1 fmt, 2 clippy, 3 3; several with commas between)
            "Which store = state?" (1 Postgres, 2 SQLite) is answered twice, and takes one answer
            the answer to "Which store = state?" is empty
            this prompt asks no questions"#]]
        .assert_eq(&refused.join("\n"));
    }

    proptest::proptest! {
        #[test]
        fn any_answer_is_taken_or_refused_but_never_a_panic(given: Vec<String>, count in 0..3usize) {
            drop(questions(count).read(&GivenAnswers::Typed(given)));
        }
    }
}
