//! An agent's own list: how it is written and read.

use std::sync::{Arc, LazyLock};

use serde_json::{Map, Value, json};

use super::tool::{Effect, ToolSpec};
use crate::job::{Todo, TodoStatus};

/// The tool that replaces the list.
pub const WRITE: &str = "write_todos";
/// The tool that shows it.
pub const READ: &str = "read_todos";

/// More items are no plan that anybody follows.
const ITEMS_MAX: usize = 200;
/// The longest item; a longer one belongs into a file.
const CONTENT_CHARS_MAX: usize = 2_000;

/// What each of several `write_todos` calls in one reply is answered.
pub const ONLY_ONE: &str = "Error: The `write_todos` tool should never be called multiple times in parallel. Please call it \
only once per model invocation to update the todo list.";

/// Both tools, as the model is told of them. The same ones for all agents.
#[must_use]
pub fn specs() -> [Arc<ToolSpec>; 2] {
    static SPECS: LazyLock<[Arc<ToolSpec>; 2]> = LazyLock::new(|| [Arc::new(write_spec()), Arc::new(read_spec())]);
    SPECS.clone()
}

fn write_spec() -> ToolSpec {
    let item = json!({
        "type": "object",
        "properties": {
            "content": {"type": "string", "minLength": 1, "description": "What is to be done, in the imperative."},
            "status": {"type": "string", "enum": ["pending", "in_progress", "completed"]},
            "activeForm": {"type": "string", "description": "The same in the progressive form: `Reading the sources`."}
        },
        "required": ["content", "status"],
        "additionalProperties": false
    });
    ToolSpec {
        name: WRITE.to_owned(),
        description:
            "Replaces your todo list. Use it for work of three or more steps, and send the whole list each time: \
            mark an item `in_progress` before you begin it and `completed` as soon as it is really done, never when it \
            failed or was given up. Keep the list short. Call it at most once in one reply. The list is your own: the \
            agents you delegate to do not see it."
                .to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {"todos": {"type": "array", "items": item}},
            "required": ["todos"],
            "additionalProperties": false
        }),
        effect: Effect::Local,
    }
}

fn read_spec() -> ToolSpec {
    ToolSpec {
        name: READ.to_owned(),
        description: "Shows your todo list with the number of items in each status.".to_owned(),
        parameters: json!({"type": "object", "properties": {}, "additionalProperties": false}),
        effect: Effect::None,
    }
}

/// The list that a `write_todos` call asks for.
///
/// # Errors
/// A sentence that names the item and what is wrong with it.
pub fn parse(arguments: &Map<String, Value>) -> Result<Vec<Todo>, String> {
    if let Some(key) = arguments.keys().find(|key| *key != "todos") {
        return Err(format!("unexpected argument `{}`; send only `todos`", shown(key)));
    }
    let Some(Value::Array(items)) = arguments.get("todos") else {
        return Err("`todos` must be a list of items, each with `content` and `status`".to_owned());
    };
    if items.len() > ITEMS_MAX {
        return Err(format!(
            "the list has {} items, and at most {ITEMS_MAX} are kept; write a shorter plan",
            items.len()
        ));
    }
    items
        .iter()
        .enumerate()
        .map(|(index, value)| item(index, value))
        .collect()
}

fn item(index: usize, value: &Value) -> Result<Todo, String> {
    let at = format!("todos[{index}]");
    let Value::Object(fields) = value else {
        return Err(format!("{at} must be an object with `content` and `status`"));
    };
    let known = ["content", "status", "activeForm"];
    if let Some(key) = fields.keys().find(|key| !known.contains(&key.as_str())) {
        return Err(format!(
            "{at} has an unknown field `{}`; it takes content, status, activeForm",
            shown(key)
        ));
    }
    let content = text(&at, fields, "content")?.ok_or_else(|| format!("{at}.content is missing"))?;
    if content.trim().is_empty() {
        return Err(format!("{at}.content is empty; say what is to be done"));
    }
    Ok(Todo {
        content,
        status: status(&at, fields.get("status"))?,
        active_form: text(&at, fields, "activeForm")?,
    })
}

fn text(at: &str, fields: &Map<String, Value>, name: &str) -> Result<Option<String>, String> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.chars().count() <= CONTENT_CHARS_MAX => Ok(Some(text.clone())),
        Some(Value::String(_)) => Err(format!(
            "{at}.{name} has more than {CONTENT_CHARS_MAX} characters; shorten it"
        )),
        Some(_) => Err(format!("{at}.{name} must be a text")),
    }
}

fn status(at: &str, value: Option<&Value>) -> Result<TodoStatus, String> {
    match value.and_then(Value::as_str) {
        Some("pending") => Ok(TodoStatus::Pending),
        Some("in_progress") => Ok(TodoStatus::InProgress),
        Some("completed") => Ok(TodoStatus::Completed),
        Some(_) | None => Err(format!("{at}.status must be pending, in_progress or completed")),
    }
}

/// What a successful `write_todos` is answered.
#[must_use]
pub fn updated(todos: &[Todo]) -> String {
    let list = serde_json::to_string(todos).unwrap_or_default();
    format!("Updated todo list to {list}")
}

/// What `read_todos` is answered: the items and the number in each status.
#[must_use]
pub fn show(todos: &[Todo]) -> String {
    if todos.is_empty() {
        return "The todo list is empty.".to_owned();
    }
    let count = |status: TodoStatus| todos.iter().filter(|todo| todo.status == status).count();
    let mut text = format!(
        "{} todos: {} pending, {} in progress, {} completed",
        todos.len(),
        count(TodoStatus::Pending),
        count(TodoStatus::InProgress),
        count(TodoStatus::Completed)
    );
    for todo in todos {
        let mark = match todo.status {
            TodoStatus::Pending => "[ ]",
            TodoStatus::InProgress => "[>]",
            TodoStatus::Completed => "[x]",
        };
        text.push('\n');
        text.push_str(mark);
        text.push(' ');
        text.push_str(&todo.content);
    }
    text
}

fn shown(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control()).take(64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(value: Value) -> Result<Vec<Todo>, String> {
        let Value::Object(arguments) = value else {
            panic!("{value}")
        };
        parse(&arguments)
    }

    fn todo(content: &str, status: TodoStatus) -> Todo {
        Todo {
            content: content.to_owned(),
            status,
            active_form: None,
        }
    }

    #[test]
    fn s01_a_list_is_replaced_whole_with_its_statuses() {
        let reading = Todo {
            active_form: Some("Reading".to_owned()),
            ..todo("Read", TodoStatus::InProgress)
        };
        let items = json!({"todos": [
            {"content": "Read", "status": "in_progress", "activeForm": "Reading"},
            {"content": "Write", "status": "pending"}
        ]});
        assert_eq!(list(items), Ok(vec![reading, todo("Write", TodoStatus::Pending)]));
        assert_eq!(list(json!({"todos": []})), Ok(vec![]));
    }

    #[test]
    fn s01_what_is_wrong_with_an_item_is_named() {
        let one = |item: Value| list(json!({"todos": [{"content": "ok", "status": "pending"}, item]})).unwrap_err();
        assert_eq!(
            one(json!({"content": " ", "status": "pending"})),
            "todos[1].content is empty; say what is to be done"
        );
        assert_eq!(
            one(json!({"content": "a", "status": "done"})),
            "todos[1].status must be pending, in_progress or completed"
        );
        assert_eq!(
            one(json!({"content": "a", "status": "pending", "id": 1})),
            "todos[1] has an unknown field `id`; it takes content, status, activeForm"
        );
        assert_eq!(
            one(json!("a")),
            "todos[1] must be an object with `content` and `status`"
        );
        assert!(list(json!({})).unwrap_err().starts_with("`todos` must be a list"));
        assert!(
            list(json!({"todos": [], "merge": true}))
                .unwrap_err()
                .contains("`merge`")
        );
        let many = vec![json!({"content": "a", "status": "pending"}); ITEMS_MAX + 1];
        assert!(list(json!({ "todos": many })).unwrap_err().contains("201 items"));
    }

    #[test]
    fn s03_the_list_is_shown_with_counts_per_status() {
        let todos = [
            todo("Read", TodoStatus::Completed),
            todo("Write", TodoStatus::InProgress),
            todo("Check", TodoStatus::Pending),
        ];
        assert_eq!(
            show(&todos),
            "3 todos: 1 pending, 1 in progress, 1 completed\n[x] Read\n[>] Write\n[ ] Check"
        );
        assert_eq!(show(&[]), "The todo list is empty.");
    }
}
