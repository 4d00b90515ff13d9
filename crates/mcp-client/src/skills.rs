//! Skills of a server, loaded only when they are what its list says they are.
//!
//! The extension is [SEP-2640](https://modelcontextprotocol.io/seps/2640-skills-extension). A list says
//! what each skill is and gives the digest of each of its files, so that a user can approve a skill and a
//! host can tell when it has become another one. Files are read when they are needed and not before.

mod error;
mod front_matter;
#[cfg(feature = "__fuzz")]
pub(crate) mod fuzz;
mod verify;
mod yaml;

pub use self::error::SkillError;
use crate::{
    client::Client,
    error::CallError,
    types::{Listing, ResourceContents, Skill, SkillResource, SkillResources},
};

const EXTENSION: &str = "io.modelcontextprotocol/skills";

/// A `SKILL.md` that is what its skill's entry says it is.
///
/// That proves that the server agrees with itself, and nothing more: the text is as foreign as any other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadedSkill {
    text: String,
    body_at: usize,
}

impl LoadedSkill {
    /// The whole file.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What comes after the front matter, which is that of the skill's entry.
    pub fn body(&self) -> &str {
        &self.text[self.body_at..]
    }
}

/// A file of a skill that is what the skill's entry says it is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SkillFile {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// What the server says they are. No digest covers this.
    pub mime_type: Option<String>,
}

impl SkillFile {
    /// Its text, if it is text.
    pub fn text(&self) -> Option<&str> {
        std::str::from_utf8(&self.bytes).ok()
    }
}

impl Client {
    /// All skills that the server lists, without reading a file of any. It may have more than it lists.
    ///
    /// A server that has not declared the extension is not asked: the error is
    /// [`CallError::Unsupported`].
    ///
    /// ```no_run
    /// # async fn example(client: mcp_client::Client) -> Result<(), Box<dyn std::error::Error>> {
    /// for skill in client.list_skills().await? {
    ///     println!("{}: {}", skill.frontmatter.name, skill.frontmatter.description);
    ///     if skill.frontmatter.name == "pdf-processing" {
    ///         println!("{}", client.load_skill(&skill).await?.body());
    ///     }
    /// }
    /// # Ok(()) }
    /// ```
    pub async fn list_skills(&self) -> Result<Listing<Skill>, CallError> {
        let declared = self.0.profile.capabilities.extensions.as_ref();
        if !declared.and_then(|all| all.get(EXTENSION)).is_some_and(|settings| settings.is_object())
        {
            return Err(CallError::Unsupported("skills"));
        }
        self.list("skills/list").await
    }

    /// Reads the `SKILL.md` of a skill. It must have the size and the digest of the skill's entry, and
    /// front matter with the same fields and values; otherwise nothing of it is handed out.
    ///
    /// A mismatch often means that the skill has changed since it was listed. [List](Self::list_skills)
    /// again, and take the new entry for a new skill: what was approved is the old one.
    pub async fn load_skill(&self, skill: &Skill) -> Result<LoadedSkill, SkillError> {
        let file = self.read_listed(skill, &skill.uri).await?;
        let text = String::from_utf8(file.bytes)
            .map_err(|_| SkillError::unreadable("`SKILL.md` is not UTF-8"))?;
        let body_at = front_matter::check(&skill.frontmatter, &text)?;
        Ok(LoadedSkill { text, body_at })
    }

    /// Reads a file of a skill, which must have the size and the digest of the skill's entry. URIs that
    /// are not in the entry are not read at all.
    pub async fn read_skill_file(&self, skill: &Skill, uri: &str) -> Result<SkillFile, SkillError> {
        let file = self.read_listed(skill, uri).await?;
        if uri == skill.uri {
            // By this door too, only what `load_skill` would let through.
            let text = file.text().ok_or(SkillError::unreadable("`SKILL.md` is not UTF-8"))?;
            front_matter::check(&skill.frontmatter, text)?;
        }
        Ok(file)
    }

    async fn read_listed(&self, skill: &Skill, uri: &str) -> Result<SkillFile, SkillError> {
        let entry = entry(skill, uri)?;
        let limit = self.0.options.max_skill_file;
        if entry.size > limit {
            return Err(SkillError::TooLarge { size: entry.size, limit });
        }
        let digest = verify::digest(&entry.digest).ok_or(SkillError::UnknownDigest)?;
        let read = self.read_resource(uri).await.map_err(SkillError::Call)?;
        let (bytes, mime_type) = content(read.contents, uri)?;
        verify::check(&bytes, entry.size, &digest)?;
        Ok(SkillFile { bytes, mime_type })
    }
}

/// What the skill's entry says of a file.
fn entry<'a>(skill: &'a Skill, uri: &str) -> Result<&'a SkillResource, SkillError> {
    let SkillResources::Listed(files) = &skill.resources else {
        return Err(SkillError::Dynamic);
    };
    let mut named = files.iter().filter(|file| file.uri == uri);
    match (named.next(), named.next()) {
        (Some(file), None) => Ok(file),
        (None, _) => Err(SkillError::NotListed { uri: uri.into() }),
        // Whichever we took, the user may have approved the other.
        (Some(_), Some(_)) => Err(SkillError::ListedTwice { uri: uri.into() }),
    }
}

/// The bytes of what was read, and what they are said to be.
fn content(
    mut parts: Vec<ResourceContents>,
    uri: &str,
) -> Result<(Vec<u8>, Option<String>), SkillError> {
    if parts.len() > 1 {
        parts.retain(|part| part.uri == uri);
    }
    let (Some(part), None) = (parts.pop(), parts.pop()) else {
        return Err(SkillError::unreadable("the server answered with other than one file"));
    };
    let bytes = match (part.text, part.blob) {
        (Some(text), None) => text.into_bytes(),
        (None, Some(blob)) => verify::base64(&blob)
            .ok_or(SkillError::unreadable("the file's `blob` is not Base64"))?,
        _ => return Err(SkillError::unreadable("the file is neither text nor a `blob`")),
    };
    Ok((bytes, part.mime_type))
}
