//! Serializes the reports of this crate to JSON, for logs and interfaces.
//!
//! A loss is `{"at","lost","text"}`: the location, the name of [`Lost`](crate::Lost), and the message.

use serde::{
    Serialize, Serializer,
    ser::{SerializeMap, SerializeStruct},
};

use crate::{Arguments, Changes, Definition, Loaded, Loss, ModelCall};

impl Serialize for Loss {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut loss = serializer.serialize_struct("Loss", 3)?;
        loss.serialize_field("at", &self.at)?;
        loss.serialize_field("lost", self.lost.as_str())?;
        loss.serialize_field("text", &self.lost.to_string())?;
        loss.end()
    }
}

impl Serialize for Definition {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut definition = serializer.serialize_struct("Definition", 3)?;
        definition.serialize_field("name", &self.name)?;
        definition.serialize_field("definition", &self.json)?;
        definition.serialize_field("losses", &self.losses)?;
        definition.end()
    }
}

/// A call with invalid arguments has `refused`, the text for the model, in place of `arguments`.
impl Serialize for ModelCall {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut call = serializer.serialize_map(Some(3))?;
        call.serialize_entry("id", &self.id)?;
        call.serialize_entry("name", &self.name)?;
        match &self.arguments {
            Arguments::Ready(json) => call.serialize_entry("arguments", json)?,
            Arguments::Refused(outcome) => {
                call.serialize_entry("refused", &outcome.text_content())?;
            }
        }
        call.end()
    }
}

impl Serialize for Loaded {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut tool = serializer.serialize_struct("Loaded", 3)?;
        tool.serialize_field("name", &self.name)?;
        tool.serialize_field("server", &self.server)?;
        tool.serialize_field("definition", &self.definition)?;
        tool.end()
    }
}

impl Serialize for Changes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut changes = serializer.serialize_struct("Changes", 4)?;
        changes.serialize_field("added", &self.added)?;
        changes.serialize_field("changed", &self.changed)?;
        changes.serialize_field("gone", &self.gone)?;
        changes.serialize_field("back", &self.back)?;
        changes.end()
    }
}
