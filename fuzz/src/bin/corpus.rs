//! Converts corpora to and from folders of files for libFuzzer: `corpus unpack|pack TARGET FOLDER`.

use std::{env, error::Error, fs, path::Path};

use mcp_fuzz::{Target, corpus, target};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [what, name, folder] = &arguments[..] else {
        return Err("unpack|pack TARGET FOLDER".into());
    };
    let target = target(name).ok_or("unknown target")?;
    match what.as_str() {
        "unpack" => unpack(target, folder.as_ref()),
        "pack" => pack(target, folder.as_ref()),
        _ => Err("unpack or pack".into()),
    }
}

fn unpack(target: &Target, folder: &Path) -> Result<(), Box<dyn Error>> {
    fs::create_dir_all(folder)?;
    for (line, input) in corpus::read(target)? {
        fs::write(folder.join(format!("line-{line}")), input)?;
    }
    Ok(())
}

fn pack(target: &Target, folder: &Path) -> Result<(), Box<dyn Error>> {
    let files = fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
    let inputs = files.iter().map(|file| fs::read(file.path())).collect::<Result<_, _>>()?;
    Ok(corpus::pack(target, inputs)?)
}
