//! Label selectors: their grammar, refused with the sentences of a real server, and what they match.

use crate::refusal::names::{label_key, label_value};
use crate::state::object::Object;

/// One comma-separated part of a label selector.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Requirement {
    key: String,
    test: Test,
}

#[derive(Clone, Debug, PartialEq)]
enum Test {
    Exists,
    Absent,
    In(Vec<String>),
    NotIn(Vec<String>),
    Greater(i64),
    Less(i64),
}

impl Requirement {
    pub(crate) fn matches(&self, object: &Object) -> bool {
        let value = object.label(&self.key);
        let number = || value.and_then(|value| value.parse::<i64>().ok());
        match &self.test {
            Test::Exists => value.is_some(),
            Test::Absent => value.is_none(),
            Test::In(values) => value.is_some_and(|value| values.iter().any(|one| one == value)),
            Test::NotIn(values) => value.is_none_or(|value| values.iter().all(|one| one != value)),
            Test::Greater(bound) => number().is_some_and(|number| number > *bound),
            Test::Less(bound) => number().is_some_and(|number| number < *bound),
        }
    }
}

/// Reads a selector; the error is the sentence for people.
pub(crate) fn parse(text: &str) -> Result<Vec<Requirement>, String> {
    let mut tokens = Tokens { rest: text };
    let mut requirements = Vec::new();
    loop {
        match tokens.peek() {
            Token::Word(_) | Token::Symbol("!") => {}
            Token::End => return Ok(requirements),
            other @ Token::Symbol(_) => {
                return Err(format!(
                    "found '{}', expected: !, identifier, or 'end of string'",
                    other.text()
                ));
            }
        }
        let requirement = requirement(&mut tokens);
        requirements.push(requirement.map_err(|why| format!("unable to parse requirement: {why}"))?);
        match tokens.next() {
            Token::End => return Ok(requirements),
            Token::Symbol(",") => match tokens.peek() {
                Token::Word(_) | Token::Symbol("!") => {}
                other => {
                    return Err(format!(
                        "found '{}', expected: identifier after ','",
                        other.text()
                    ));
                }
            },
            other => {
                return Err(format!(
                    "found '{}', expected: ',' or 'end of string'",
                    other.text()
                ));
            }
        }
    }
}

fn requirement(tokens: &mut Tokens<'_>) -> Result<Requirement, String> {
    let negated = tokens.peek() == Token::Symbol("!");
    if negated {
        tokens.next();
    }
    let key = match tokens.next() {
        Token::Word(key) => key.to_owned(),
        other => return Err(format!("found '{}', expected: identifier", other.text())),
    };
    check("<nil>", &key, label_key(&key))?;
    let test = match tokens.peek() {
        _ if negated => Test::Absent,
        Token::End | Token::Symbol(",") => Test::Exists,
        _ => test(tokens)?,
    };
    if let Test::In(values) | Test::NotIn(values) = &test {
        for (index, value) in values.iter().enumerate() {
            check(&format!("values[{index}][{key}]"), value, label_value(value))?;
        }
    }
    Ok(Requirement { key, test })
}

fn test(tokens: &mut Tokens<'_>) -> Result<Test, String> {
    match tokens.next() {
        Token::Symbol("=" | "==") => Ok(Test::In(vec![exact_value(tokens)?])),
        Token::Symbol("!=") => Ok(Test::NotIn(vec![exact_value(tokens)?])),
        Token::Symbol(">") => number(tokens).map(Test::Greater),
        Token::Symbol("<") => number(tokens).map(Test::Less),
        Token::Word("in") => values(tokens).map(Test::In),
        Token::Word("notin") => values(tokens).map(Test::NotIn),
        other => Err(format!(
            "found '{}', expected: in, notin, =, ==, !=, gt, lt",
            other.text()
        )),
    }
}

/// A value may be empty: `team=` selects objects whose label is the empty string.
fn exact_value(tokens: &mut Tokens<'_>) -> Result<String, String> {
    if matches!(tokens.peek(), Token::End | Token::Symbol(",")) {
        return Ok(String::new());
    }
    match tokens.next() {
        Token::Word(value) => Ok(value.to_owned()),
        other => Err(format!("found '{}', expected: identifier", other.text())),
    }
}

fn number(tokens: &mut Tokens<'_>) -> Result<i64, String> {
    let value = exact_value(tokens)?;
    value.parse().map_err(|_| {
        format!("values[0]: Invalid value: {value:?}: for 'Gt', 'Lt' operators, the value must be an integer")
    })
}

fn values(tokens: &mut Tokens<'_>) -> Result<Vec<String>, String> {
    match tokens.next() {
        Token::Symbol("(") => {}
        other => return Err(format!("found '{}' expected: '('", other.text())),
    }
    let mut values = Vec::new();
    match tokens.peek() {
        Token::Word(_) | Token::Symbol(",") => {}
        // Nothing between the parentheses is the empty text, as nothing after `=` is.
        Token::Symbol(")") => values.push(String::new()),
        other => {
            return Err(format!(
                "found '{}', expected: ',', ')' or identifier",
                other.text()
            ));
        }
    }
    loop {
        match tokens.next() {
            Token::Symbol(")") => return Ok(values),
            Token::Word(value) => {
                values.push(value.to_owned());
                match tokens.peek() {
                    Token::Symbol("," | ")") => {}
                    other => return Err(format!("found '{}', expected: ',' or ')'", other.text())),
                }
            }
            Token::Symbol(",") => {
                if values.is_empty() || !matches!(tokens.peek(), Token::Word(_)) {
                    values.push(String::new());
                }
            }
            other => return Err(format!("found '{}', expected: ',', or identifier", other.text())),
        }
    }
}

fn check(path: &str, value: &str, wrong: Vec<String>) -> Result<(), String> {
    let mut wrong: Vec<_> = wrong
        .into_iter()
        .map(|why| format!("{path}: Invalid value: {value:?}: {why}"))
        .collect();
    match wrong.len() {
        0 => Ok(()),
        1 => Err(wrong.remove(0)),
        _ => Err(format!("[{}]", wrong.join(", "))),
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Token<'a> {
    Word(&'a str),
    Symbol(&'a str),
    End,
}

impl<'a> Token<'a> {
    fn text(self) -> &'a str {
        match self {
            Self::Word(text) | Self::Symbol(text) => text,
            Self::End => "",
        }
    }
}

/// Splits a selector into words and operators.
struct Tokens<'a> {
    rest: &'a str,
}

impl<'a> Tokens<'a> {
    fn peek(&self) -> Token<'a> {
        Tokens { rest: self.rest }.next()
    }

    fn next(&mut self) -> Token<'a> {
        let blank = |letter: char| matches!(letter, ' ' | '\t' | '\r' | '\n');
        let special = |letter: char| "=!(),><".contains(letter);
        let rest = self.rest.trim_start_matches(blank);
        let Some(first) = rest.chars().next() else {
            self.rest = rest;
            return Token::End;
        };
        if !special(first) {
            let end = rest
                .find(|letter| blank(letter) || special(letter))
                .unwrap_or(rest.len());
            let (word, rest) = rest.split_at(end);
            self.rest = rest;
            return Token::Word(word);
        }
        let length = if rest.starts_with("==") || rest.starts_with("!=") {
            2
        } else {
            1
        };
        let (symbol, rest) = rest.split_at(length);
        self.rest = rest;
        Token::Symbol(symbol)
    }
}
