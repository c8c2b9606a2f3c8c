//! The page from elsewhere: through a TLS proxy under another host name, through a tunnel, and what other servers learn.

use crate::run::api::serve;
use crate::support::browser::{Browser, CHINESE_PHONE, DESKTOP, link};
use crate::support::child::{Child, Stdin};
use crate::support::connection::Target;
use crate::support::driven::shell;
use crate::support::home::Home;
use crate::support::http::Request;
use crate::support::standin::StandIn;
use crate::support::{PATIENCE, until};
use serde_json::json;
use std::ffi::OsString;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::sync::mpsc;

/// A port that was free a moment ago.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// What `device link` prints: the link, by the public address.
fn public_link(gate: &crate::support::gate::Gate, public_url: &str, rights: &[&str]) -> String {
    let here = link(gate, rights);
    format!("{public_url}/#{}", here.split_once('#').unwrap().1)
}

/// nginx with TLS in front of the gate's second listener, as the guide says.
#[must_use]
fn nginx(home: &Home, port: u16, public: &str) -> Child {
    let folder = folder(home, "nginx");
    let mut openssl = home.program("openssl");
    openssl.args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=gate.example.org"]);
    openssl.args(["-keyout", "key.pem", "-out", "cert.pem"]).current_dir(&folder);
    home.spawn(openssl, Stdin::Nothing).wait_exit(PATIENCE);
    let configuration = format!(
        "daemon off; master_process off; pid nginx.pid; error_log stderr;
         events {{}}
         http {{
           access_log off;
           client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path f; uwsgi_temp_path u; scgi_temp_path s;
           server {{
             listen 127.0.0.1:{port} ssl;
             ssl_certificate cert.pem; ssl_certificate_key key.pem;
             location / {{
               proxy_pass http://{public};
               proxy_http_version 1.1; proxy_set_header Host $http_host; proxy_buffering off; proxy_read_timeout 1h;
               client_max_body_size 0;
             }}
           }}
         }}"
    );
    std::fs::write(folder.join("nginx.conf"), configuration).unwrap();
    let mut nginx = home.program(peer("PORTCULLIS_TEST_NGINX", "nginx"));
    nginx.arg("-p").arg(&folder).args(["-e", "stderr", "-c", "nginx.conf"]);
    listening(home, nginx, port)
}

/// Caddy with TLS, as the guide says. It signs for itself here: nobody else would for this name.
#[must_use]
fn caddy(home: &Home, port: u16, public: &str) -> Child {
    let folder = folder(home, "caddy");
    let configuration = format!(
        "{{
            admin off
            skip_install_trust
            auto_https disable_redirects
         }}
         https://gate.example.org:{port} {{
            bind 127.0.0.1
            tls internal
            reverse_proxy {public}
         }}"
    );
    std::fs::write(folder.join("Caddyfile"), configuration).unwrap();
    let mut caddy = home.program(peer("PORTCULLIS_TEST_CADDY", "caddy"));
    caddy.env("XDG_DATA_HOME", folder.join("data")).env("XDG_CONFIG_HOME", folder.join("config"));
    caddy.args(["run", "--adapter", "caddyfile", "--config"]).arg(folder.join("Caddyfile"));
    listening(home, caddy, port)
}

fn folder(home: &Home, name: &str) -> PathBuf {
    let folder = home.user().join(name);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn peer(variable: &str, name: &str) -> OsString {
    std::env::var_os(variable).unwrap_or_else(|| name.into())
}

/// The program, as soon as someone can connect to its port.
fn listening(home: &Home, command: Command, port: u16) -> Child {
    let child = home.spawn(command, Stdin::Nothing);
    until("the port", || {
        assert!(!child.has_exited(), "{}", child.story());
        TcpStream::connect(("127.0.0.1", port)).ok()
    });
    child
}

/// A page through this proxy, under the gate's public name, from the link to the file that was written.
fn through(proxy: impl Fn(&Home, u16, &str) -> Child) {
    let home = Home::new();
    let port = free_port();
    let public_url = format!("https://gate.example.org:{port}");
    let model = shell(&["touch made.txt && echo made"]);
    let gate = serve(&home, &model, &format!("public_url = \"{public_url}\"\npublic_listen = \"127.0.0.1:0\"\n"));
    let _proxy = proxy(&home, port, home.status()["public_listen"].as_str().unwrap());
    let browser = Browser::start(&home);
    let page = browser.open("a", &public_link(&gate, &public_url, &["start"]), CHINESE_PHONE);
    page.click("[data-action=link]");
    page.see(".empty");
    gate.post("/api/v1/sessions", &json!({"prompt": "go"})).expect(201);
    page.see(".prompt");
    page.click("[data-action=allowOnce]");
    page.see(".settled");
    until("the file", || home.project().join("made.txt").exists().then_some(()));
    assert_eq!(page.problems(), [""; 0]);
    let elsewhere = |url: &String| !url.starts_with(&public_url);
    assert_eq!(page.requests().into_iter().filter(elsewhere).collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn through_nginx_with_tls_under_another_name_the_page_is_complete() {
    through(nginx);
}

#[test]
fn through_caddy_with_tls_under_another_name_the_page_is_complete() {
    through(caddy);
}

/// An ssh server of this user, on a port of its own, and the client's way through it: `ssh -L PORT:localhost:8789`.
#[must_use]
fn tunnel(home: &Home, port: u16, public: &str) -> [Child; 2] {
    let folder = folder(home, "ssh");
    for key in ["host", "mine"] {
        let mut keygen = home.program("ssh-keygen");
        keygen.args(["-q", "-t", "ed25519", "-N", "", "-f", key]).current_dir(&folder);
        home.spawn(keygen, Stdin::Nothing).wait_exit(PATIENCE);
    }
    let (place, server) = (folder.display(), free_port());
    let settings = format!(
        "ListenAddress 127.0.0.1:{server}\nHostKey {place}/host\nAuthorizedKeysFile {place}/mine.pub\nStrictModes no\n\
         UsePAM no\nPidFile none\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n"
    );
    std::fs::write(folder.join("sshd.conf"), settings).unwrap();
    let mut sshd = home.program(peer("PORTCULLIS_TEST_SSHD", "/usr/sbin/sshd"));
    sshd.args(["-D", "-e", "-f"]).arg(folder.join("sshd.conf"));
    let sshd = listening(home, sshd, server);
    let key = std::fs::read_to_string(folder.join("host.pub")).unwrap();
    std::fs::write(folder.join("known"), format!("[127.0.0.1]:{server} {key}")).unwrap();
    let mut ssh = home.program("ssh");
    ssh.current_dir(&folder).args(["-F", "none", "-N", "-i", "mine", "-p", &server.to_string()]);
    for option in ["IdentitiesOnly=yes", "UserKnownHostsFile=known", "BatchMode=yes", "ExitOnForwardFailure=yes"] {
        ssh.args(["-o", option]);
    }
    let listener = public.rsplit(':').next().unwrap();
    ssh.args(["-L", &format!("{port}:localhost:{listener}"), "127.0.0.1"]);
    [sshd, listening(home, ssh, port)]
}

#[test]
fn through_ssh_the_page_is_at_localhost() {
    let home = Home::new();
    let port = free_port();
    let public_url = format!("http://localhost:{port}");
    home.write_config(&format!("public_url = \"{public_url}\"\npublic_listen = \"127.0.0.1:0\"\n"));
    let gate = home.serve();
    let _tunnel = tunnel(&home, port, home.status()["public_listen"].as_str().unwrap());
    let browser = Browser::start(&home);
    let page = browser.open("a", &public_link(&gate, &public_url, &["admin"]), DESKTOP);
    page.click("[data-action=link]");
    page.see(".empty");
    let session = StandIn::start(&home, &["--label", "api"]);
    page.see_text(".session", "api");
    session.ask("abcde", "Bash", "Make x", "touch x");
    page.click(".prompt [data-action=deny]");
    page.see(".settled");
    // Links are made on the gate's own computer alone: the page says so and offers none.
    page.goto(&format!("{public_url}/#/devices"));
    page.see_text("main", "portcullis device link");
    assert_eq!(page.count("[data-action=makeLink]"), 0);
}

#[test]
fn what_a_proxy_adds_to_a_request_gives_nobody_a_right() {
    let home = Home::new();
    home.write_config("public_url = \"https://gate.tail.example.ts.net\"\npublic_listen = \"127.0.0.1:0\"\n");
    let _gate = home.serve();
    let public = Target::Tcp(home.status()["public_listen"].as_str().unwrap().parse().unwrap());
    let request = Request::get("/api/v1/sessions").without("Host").header("Host", "gate.tail.example.ts.net");
    // As `tailscale serve` sends them.
    let request = request.header("X-Forwarded-For", "127.0.0.1").header("X-Forwarded-Proto", "https");
    let request = request.header("X-Forwarded-Host", "gate.tail.example.ts.net");
    let request = request.header("Tailscale-User-Login", "owner").header("Tailscale-User-Name", "owner");
    request.send(&public).expect(401);
    request.token(home.token()).send(&public).expect(200);
}

#[test]
fn another_server_on_this_machine_learns_nothing_and_its_pages_reach_nothing() {
    let home = Home::new();
    let gate = home.serve();
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = other.local_addr().unwrap();
    let (tell, heard) = mpsc::channel();
    std::thread::spawn(move || {
        for mut stream in other.incoming().flatten() {
            let mut request = vec![0; 16384];
            let length = stream.read(&mut request).unwrap_or(0);
            drop(tell.send(String::from_utf8_lossy(&request[..length]).into_owned()));
            drop(stream.write_all(
                b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi",
            ));
        }
    });
    let browser = Browser::start(&home);
    let page = browser.linked("a", &gate, &[], DESKTOP);
    page.goto(&format!("http://localhost:{}/", address.port()));
    let request = heard.recv().unwrap().to_lowercase();
    for header in ["cookie:", "authorization:", "referer:"] {
        assert!(!request.contains(header), "{request}");
    }
    assert_eq!(page.run("localStorage.length"), 0, "the key is kept for the page's own origin");
    let gate_url = format!("http://{}", gate.address());
    let read = format!("fetch('{gate_url}/api/v1/sessions').then(() => 'read', () => 'refused')");
    assert_eq!(page.run(&read), "refused");
    let written =
        format!("fetch('{gate_url}/', {{method: 'POST', mode: 'no-cors', body: 'hello'}}).then(() => 1, () => 1)");
    page.run(&written);
    assert_eq!(gate.get("/api/v1/events").expect(200).json(), json!([]), "and nothing was said");
    let framed = format!(
        "new Promise((done) => {{ const frame = document.createElement('iframe'); frame.src = '{gate_url}/'; \
         frame.onload = () => {{ try {{ done(frame.contentDocument ? 'ours' : 'foreign') }} catch {{ done('foreign') }} }}; \
         document.body.append(frame) }})"
    );
    page.run(&framed);
    assert_eq!(page.count("iframe >> #app"), 0, "the page shows in nobody's frame");
}
