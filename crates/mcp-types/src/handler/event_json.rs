//! JSON of a server's notifications, for logs of hosts. Written by hand, because the lean tree has no derive macros.

use serde::{Serialize, Serializer, ser::SerializeMap as _};

use super::ServerEvent;

impl Serialize for ServerEvent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("event", name(self))?;
        match self {
            Self::ToolsChanged | Self::PromptsChanged | Self::ResourcesChanged => {}
            Self::ResourceUpdated { uri } => map.serialize_entry("uri", uri)?,
            Self::Log(message) => map.serialize_entry("message", message)?,
            Self::Progress { call, progress } => {
                map.serialize_entry("call", call)?;
                map.serialize_entry("progress", &progress.progress)?;
                map.serialize_entry("total", &progress.total)?;
                map.serialize_entry("message", &progress.message)?;
            }
            Self::TaskUpdated(task) => map.serialize_entry("task", task)?,
            Self::ElicitationComplete { elicitation_id } => {
                map.serialize_entry("elicitationId", elicitation_id)?;
            }
            Self::Missed(events) => map.serialize_entry("events", events)?,
            Self::Other(notification) => {
                map.serialize_entry("method", &notification.method)?;
                map.serialize_entry("params", &notification.params)?;
            }
        }
        map.end()
    }
}

fn name(event: &ServerEvent) -> &'static str {
    match event {
        ServerEvent::ToolsChanged => "toolsChanged",
        ServerEvent::PromptsChanged => "promptsChanged",
        ServerEvent::ResourcesChanged => "resourcesChanged",
        ServerEvent::ResourceUpdated { .. } => "resourceUpdated",
        ServerEvent::Log(_) => "log",
        ServerEvent::Progress { .. } => "progress",
        ServerEvent::TaskUpdated(_) => "taskUpdated",
        ServerEvent::ElicitationComplete { .. } => "elicitationComplete",
        ServerEvent::Missed(_) => "missed",
        ServerEvent::Other(_) => "other",
    }
}

#[cfg(test)]
mod tests {
    use mcp_jsonrpc::{Notification, Progress, RawJson};

    use super::*;

    /// Other programs read these shapes, so changing one is a breaking change.
    #[test]
    fn json_shapes_of_events_are_stable() {
        let log = r#"{"level":"info","logger":"db","data":{"n":1}}"#;
        let task = r#"{"taskId":"t","status":"working","createdAt":"now","lastUpdatedAt":"now","ttl":null}"#;
        let decoded = |text: &'static str| RawJson::parse(text).unwrap();
        let mut progress = Progress::new(0.5);
        progress.total = Some(1.0);
        let task: Box<crate::tasks::Task> = Box::new(decoded(task).decode().unwrap());
        let task_json = RawJson::encode(&task).unwrap();
        for (event, json) in [
            (ServerEvent::ToolsChanged, r#"{"event":"toolsChanged"}"#.to_owned()),
            (ServerEvent::PromptsChanged, r#"{"event":"promptsChanged"}"#.to_owned()),
            (ServerEvent::ResourcesChanged, r#"{"event":"resourcesChanged"}"#.to_owned()),
            (
                ServerEvent::ResourceUpdated { uri: "a:b".into() },
                r#"{"event":"resourceUpdated","uri":"a:b"}"#.to_owned(),
            ),
            (
                ServerEvent::Log(decoded(log).decode().unwrap()),
                format!(r#"{{"event":"log","message":{log}}}"#),
            ),
            (
                ServerEvent::Progress { call: "tools/call add".into(), progress },
                r#"{"event":"progress","call":"tools/call add","progress":0.5,"total":1.0,"message":null}"#.to_owned(),
            ),
            (
                ServerEvent::TaskUpdated(task),
                format!(r#"{{"event":"taskUpdated","task":{}}}"#, task_json.as_str()),
            ),
            (
                ServerEvent::ElicitationComplete { elicitation_id: "e".into() },
                r#"{"event":"elicitationComplete","elicitationId":"e"}"#.to_owned(),
            ),
            (ServerEvent::Missed(3), r#"{"event":"missed","events":3}"#.to_owned()),
            (
                ServerEvent::Other(Notification { method: "x/y".into(), params: None }),
                r#"{"event":"other","method":"x/y","params":null}"#.to_owned(),
            ),
        ] {
            assert_eq!(RawJson::encode(&event).unwrap().as_str(), json);
        }
    }
}
