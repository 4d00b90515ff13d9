//! Two processes that renew the same login as fast as they can, at a server that accepts each refresh token once.

use std::{
    env,
    path::{Path, PathBuf},
    process::Stdio,
    sync::Arc,
};

use mcp_auth::{
    InteractError, OAuth, OAuthOptions, OnEvent, Secret,
    guard::{Guard, GuardedClient},
    http::{HttpClient as _, HttpRequest},
    interact::Paste,
    store::{StoreMode, Vault},
};
use mcp_transport::{Authorize as _, auth::Target};

use crate::{sockets::http_client, support::socket::Served};

/// The variable with the server URL and the folder for [`worker`].
const SERVER_AND_FOLDER: &str = "MCP_AUTH_HAMMER";
const PROCESSES: usize = 2;
const TASKS: usize = 3;
const ROUNDS: usize = 400;

/// Returns the state of a process that has just started.
async fn fresh(server: &str, folder: &Path, http: Arc<GuardedClient>) -> (OAuth, Arc<Vault>) {
    let vault = Vault::open(StoreMode::File, folder, OnEvent::default()).await.unwrap();
    let vault = Arc::new(vault);
    (OAuth::new(OAuthOptions::new(server, vault.clone(), http)), vault)
}

/// Simulates a user whose browser is our own HTTP client.
fn user() -> Paste {
    Paste::new(Arc::new(|url| {
        Box::pin(async move {
            let client = http_client(&[]).unwrap();
            let guard = Guard::for_server(&url);
            let reply = client.send(HttpRequest::new("GET", url, guard)).await.unwrap();
            reply.header("location").map(Secret::new).ok_or(InteractError::Cancelled)
        })
    }))
}

/// The work of each process. Does nothing unless another test starts it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn worker() {
    let Ok(setup) = env::var(SERVER_AND_FOLDER) else {
        println!("run by `concurrent_processes_share_a_login_without_losing_a_token`");
        return;
    };
    let (server, folder) = setup.split_once(' ').unwrap();
    let (server, folder) = (server.to_owned(), PathBuf::from(folder));
    let http = Arc::new(http_client(&[]).unwrap());
    let tasks: Vec<_> = (0..TASKS)
        .map(|_| {
            let (server, folder, http) = (server.clone(), folder.clone(), http.clone());
            tokio::spawn(async move {
                for _ in 0..ROUNDS {
                    let (auth, _) = fresh(&server, &folder, http.clone()).await;
                    let credentials = auth.credentials(Target::new("POST", &server)).await.unwrap();
                    assert_eq!(credentials.headers.len(), 1, "no token");
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_processes_share_a_login_without_losing_a_token() {
    let served = Served::start().await;
    served.authority.lock().unwrap().iss = None;
    served.authority.lock().unwrap().metadata["authorization_response_iss_parameter_supported"] =
        false.into();
    let folder = tempfile::tempdir().unwrap();
    let http = Arc::new(http_client(&[]).unwrap());
    let (auth, vault) = fresh(&served.server(), folder.path(), http).await;
    auth.login(&user()).await.unwrap();

    let setup = format!("{} {}", served.server(), folder.path().display());
    let workers: Vec<_> = (0..PROCESSES)
        .map(|_| {
            tokio::process::Command::new(env::current_exe().unwrap())
                .args(["--exact", "hammer::worker"])
                .env(SERVER_AND_FOLDER, &setup)
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .kill_on_drop(true)
                .spawn()
                .unwrap()
        })
        .collect();
    for worker in workers {
        let output = worker.wait_with_output().await.unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("1 passed"), "{text}");
    }
    let keys = vault.store().list().await.unwrap();
    let mut stored = String::new();
    for key in &keys {
        stored.push_str(vault.store().get(key).await.unwrap().unwrap().expose());
    }
    let authority = served.authority.lock().unwrap();
    assert_eq!(authority.double_spends, 0);
    assert_eq!(authority.spent.len(), PROCESSES * TASKS * ROUNDS);
    let [current] = authority.refresh.keys().collect::<Vec<_>>()[..] else {
        panic!("{} refresh tokens", authority.refresh.len());
    };
    assert!(stored.contains(current.as_str()), "the current refresh token is not stored");
}
