//! Two processes that renew the same login as fast as they can, at a server that takes each refresh token
//! once.

use std::{
    env,
    path::{Path, PathBuf},
    process::Stdio,
    sync::Arc,
};

use mcp_auth::{
    Guard, HttpClient as _, HttpRequest, InteractError, OAuth, OAuthOptions, OnEvent, Paste,
    ReqwestClient, Secret, StoreMode, Vault,
};
use mcp_transport::{Authorize as _, Target};

use crate::support::socket::Served;

const PLACE: &str = "MCP_AUTH_HAMMER";
const PROCESSES: usize = 2;
const TASKS: usize = 3;
const ROUNDS: usize = 400;

/// A process that has just started, as far as the login is concerned.
async fn fresh(server: &str, folder: &Path, http: Arc<ReqwestClient>) -> (OAuth, Arc<Vault>) {
    let vault = Vault::open(StoreMode::File, folder, OnEvent::default()).await.unwrap();
    let vault = Arc::new(vault);
    (OAuth::new(OAuthOptions::new(server, vault.clone(), http)), vault)
}

/// A person whose browser is our own client.
fn person() -> Paste {
    Paste::new(Arc::new(|url| {
        Box::pin(async move {
            let client = ReqwestClient::new().unwrap();
            let guard = Guard::for_server(&url);
            let reply = client.send(HttpRequest::new("GET", url, guard)).await.unwrap();
            reply.header("location").map(Secret::new).ok_or(InteractError::Cancelled)
        })
    }))
}

/// What the other processes do. Without a place to do it there is nothing to hammer, and it says so.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn worker() {
    let Ok(place) = env::var(PLACE) else {
        println!("run by `processes_that_share_a_login_lose_no_token`");
        return;
    };
    let (server, folder) = place.split_once(' ').unwrap();
    let (server, folder) = (server.to_owned(), PathBuf::from(folder));
    let http = Arc::new(ReqwestClient::new().unwrap());
    let tasks: Vec<_> = (0..TASKS)
        .map(|_| {
            let (server, folder, http) = (server.clone(), folder.clone(), http.clone());
            tokio::spawn(async move {
                for _ in 0..ROUNDS {
                    let (auth, _) = fresh(&server, &folder, http.clone()).await;
                    let credentials = auth.credentials(Target::new("POST", &server)).await.unwrap();
                    assert_eq!(credentials.headers.len(), 1, "a round without a token");
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn processes_that_share_a_login_lose_no_token() {
    let served = Served::start().await;
    served.authority.lock().unwrap().iss = None;
    served.authority.lock().unwrap().metadata["authorization_response_iss_parameter_supported"] =
        false.into();
    let folder = tempfile::tempdir().unwrap();
    let http = Arc::new(ReqwestClient::new().unwrap());
    let (auth, vault) = fresh(&served.server(), folder.path(), http).await;
    auth.login(&person()).await.unwrap();

    let place = format!("{} {}", served.server(), folder.path().display());
    let workers: Vec<_> = (0..PROCESSES)
        .map(|_| {
            tokio::process::Command::new(env::current_exe().unwrap())
                .args(["--exact", "hammer::worker"])
                .env(PLACE, &place)
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
