//! Serves stdin and stdout, one message per line. The responses to one read are sent in one write.

use std::{
    fs::File,
    io::{self, Read, Write},
    os::fd::AsFd,
};

use bench_server::Request;

use crate::answers::Answers;

/// Responds until the client closes the standard input.
pub(crate) fn serve(mut answers: Answers) -> io::Result<()> {
    // Plain files: std's stdout flushes at every line end.
    let mut stdin = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let mut stdout = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    let mut out = Vec::with_capacity(256 << 10);
    let mut buffer = vec![0; 256 << 10];
    let mut filled = 0;
    loop {
        if filled == buffer.len() {
            buffer.resize(2 * filled, 0);
        }
        let read = stdin.read(&mut buffer[filled..])?;
        if read == 0 {
            return Ok(());
        }
        filled += read;
        let mut start = 0;
        while let Some(length) = buffer[start..filled].iter().position(|&byte| byte == b'\n') {
            let request = Request::read(&buffer[start..start + length]);
            start += length + 1;
            let Some(message) = answers.to(&request) else { continue };
            let long = message.write(&mut out);
            if !long.is_empty() {
                // Written without a copy, after the responses before it.
                stdout.write_all(&out)?;
                out.clear();
                stdout.write_all(long)?;
            }
            out.push(b'\n');
        }
        buffer.copy_within(start..filled, 0);
        filled -= start;
        stdout.write_all(&out)?;
        out.clear();
    }
}
