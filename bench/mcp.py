#!/usr/bin/env python3
"""The MCP gateway beside a direct connection and beside the two common proxies: how long a call takes, and what is resident.

    cargo build --release && eval "$(./check peers)" && bench/mcp.py [--quick] [--portcullis BINARY] [--only NAME]

Everyone calls `echo` of server-everything. What stands before the arrow is how the client speaks, and behind it how the
server does; *added* is the time above a direct connection to the same server. Each answer is compared with what was asked. Memory is that of the proxy's own processes (of the gateway: the gate, `mcp host` or every
`mcp serve`, and the guard of each server); the server behind it is not counted. A page that several processes share counts
once, in parts (PSS). Nothing is read from or written to the caller's home."""

import argparse, http.client, json, os, pathlib, queue, shutil, signal, socket, statistics, subprocess, sys, tempfile, threading, time

NPM_PROXY, PYPI_PROXY = "mcp-proxy@6.7.19", "mcp-proxy==0.13.0"
ROOT = pathlib.Path(__file__).resolve().parent.parent
INFO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}


def cache():
    given = os.environ.get("PORTCULLIS_CACHE")
    base = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    folder = (pathlib.Path(given) if given else base / "portcullis-check") / "peers" / "bench-mcp"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def npm_proxy():
    folder = cache() / NPM_PROXY
    if not (folder / "node_modules").exists():
        folder.mkdir(exist_ok=True)
        subprocess.run(["npm", "i", "--no-audit", "--no-fund", "--loglevel=error", "--ignore-scripts", NPM_PROXY], cwd=folder, check=True)
    about = json.loads((folder / "node_modules/mcp-proxy/package.json").read_text())
    return folder / "node_modules/mcp-proxy" / about["bin"]["mcp-proxy"]


def pypi_proxy():
    folder = cache() / PYPI_PROXY
    if not (folder / "bin/mcp-proxy").exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([folder / "bin/pip", "install", "--quiet", PYPI_PROXY], check=True)
    return folder / "bin/mcp-proxy"


def free_port():
    with socket.socket() as it:
        it.bind(("127.0.0.1", 0))
        return it.getsockname()[1]


def resident(pids):
    """Megabytes of these processes together, each page in parts of those that share it."""
    kilobytes = 0
    for pid in pids:
        for line in pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            kilobytes += int(line.split()[1]) if line.startswith("Pss:") else 0
    return kilobytes / 1000


def children(pid):
    text = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(child) for child in text.split()]


class Stdio:
    """A client on the standard streams of a program."""

    def __init__(self, command, env):
        self.process = subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.last = 0
        self.request("initialize", INFO)
        self.send({"method": "notifications/initialized"})

    def send(self, message):
        self.process.stdin.write((json.dumps({"jsonrpc": "2.0", **message}) + "\n").encode())
        self.process.stdin.flush()

    def request(self, method, params):
        self.last += 1
        self.send({"id": self.last, "method": method, "params": params})
        while True:
            line = self.process.stdout.readline()
            assert line, "it ended"
            message = json.loads(line)
            if message.get("id") == self.last and "method" not in message:
                return message["result"]

    def close(self):
        self.process.stdin.close()
        self.process.wait(20)


class Http:
    """A client over streamable HTTP, on one connection."""

    def __init__(self, port, path="/mcp", token=None):
        self.port, self.path, self.token, self.session, self.last = port, path, token, None, 0
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self.connection.connect()
        self.connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.request("initialize", INFO)
        self.post({"method": "notifications/initialized"})

    def post(self, message):
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        if self.session:
            headers |= {"Mcp-Session-Id": self.session, "MCP-Protocol-Version": "2025-11-25"}
        self.connection.request("POST", self.path, json.dumps({"jsonrpc": "2.0", **message}), headers)
        response = self.connection.getresponse()
        self.session = response.headers.get("mcp-session-id") or self.session
        body = response.read().decode()
        assert response.status in (200, 202), f"{response.status} {body}"
        return response, body

    def request(self, method, params):
        self.last += 1
        response, body = self.post({"id": self.last, "method": method, "params": params})
        if "event-stream" in (response.headers.get("content-type") or ""):
            lines = [line[5:].strip() for line in body.splitlines() if line.startswith("data:")]
            messages = [json.loads(line) for line in lines if line]
        else:
            messages = [json.loads(body)]
        return next(message["result"] for message in messages if message.get("id") == self.last)

    def close(self):
        self.connection.close()


class Contender:
    """Set up in a folder of its own; `client()` makes a client, `pids()` are the processes whose memory counts."""

    tool = "echo"
    direct = "direct, stdio"

    def __init__(self, folder, options):
        self.folder, self.options, self.started = folder, options, []
        self.server = [os.environ["PORTCULLIS_TEST_NODE"], os.environ["PORTCULLIS_TEST_EVERYTHING"]]
        self.env = {"PATH": os.environ["PATH"], "HOME": str(folder)}
        self.set_up()

    def set_up(self):
        pass

    def spawn(self, command, **more):
        with open(self.folder / "log", "ab") as log:
            process = subprocess.Popen(command, env={**self.env, **more}, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        self.started.append(process)
        return process

    def listen(self, port):
        for _ in range(600):
            with socket.socket() as it:
                if it.connect_ex(("127.0.0.1", port)) == 0:
                    return
            time.sleep(0.05)
        raise SystemExit((self.folder / "log").read_text())

    def serve_http(self):
        """Starts the server over HTTP. Returns its port."""
        port = free_port()
        self.spawn([*self.server, "streamableHttp"], PORT=str(port))
        self.listen(port)
        return port

    def pids(self, clients):
        return []

    def end(self):
        for process in self.started:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(20)


class DirectStdio(Contender):
    def client(self):
        return Stdio([*self.server, "stdio"], self.env)


class DirectHttp(Contender):
    def set_up(self):
        self.port = self.serve_http()

    def client(self):
        return Http(self.port)


class Portcullis(Contender):
    tool = "real__echo"

    def set_up(self):
        self.program, self.port = str(self.options.portcullis), free_port()
        state = self.folder / "state"
        state.mkdir(mode=0o700)
        self.env |= {"PORTCULLIS_HOME": str(state), "PORTCULLIS_LISTEN": f"127.0.0.1:{self.port}"}
        (self.folder / ".claude.json").write_text(json.dumps({"mcpServers": {"real": self.entry()}}))
        (state / "rules.toml").write_text('[[rule]]\nallow = "mcp__real"\n')
        self.gate = self.spawn([self.program, "serve"])
        self.listen(self.port)
        self.token = self.add_token((state / "owner.token").read_text().strip())

    def entry(self):
        return {"command": self.server[0], "args": [self.server[1], "stdio"]}

    def add_token(self, owner):
        gate = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        headers = {"Authorization": f"Bearer {owner}", "Content-Type": "application/json"}
        gate.request("POST", "/api/v1/tokens", json.dumps({"person": "bench", "role": "agent"}), headers)
        return json.loads(gate.getresponse().read())["token"]


def with_guards(pids):
    """These processes, and those of ours that each of them started to hold a server."""
    guards = [child for pid in pids for child in children(pid) if "__guard" in pathlib.Path(f"/proc/{child}/cmdline").read_text()]
    return [*pids, *guards]


class GatewayStdio(Portcullis):
    def client(self):
        return Stdio([self.program, "mcp", "serve"], {**self.env, "PWD": str(self.folder)})

    def pids(self, clients):
        return [self.gate.pid, *with_guards([client.process.pid for client in clients])]


class GatewayHttp(Portcullis):
    def client(self):
        return Http(self.port, token=self.token)

    def pids(self, clients):
        host = [pid for pid in children(self.gate.pid) if "mcp\0host" in pathlib.Path(f"/proc/{pid}/cmdline").read_text()]
        return [self.gate.pid, *with_guards(host)]


class GatewayHttpToHttp(GatewayHttp):
    direct = "direct, http"

    def entry(self):
        return {"type": "http", "url": f"http://127.0.0.1:{self.serve_http()}/mcp"}


class Proxy(Contender):
    def set_up(self):
        self.port = free_port()
        self.process = self.spawn([*self.command(), *self.server, "stdio"])
        self.listen(self.port)

    def client(self):
        return Http(self.port)

    def pids(self, clients):
        return [self.process.pid]


class NpmProxy(Proxy):
    def command(self):
        return [self.server[0], npm_proxy(), "--port", str(self.port), "--host", "127.0.0.1", "--"]


class PypiProxy(Proxy):
    def command(self):
        return [pypi_proxy(), f"--port={self.port}", "--host=127.0.0.1", "--"]


CONTENDERS = {
    "direct, stdio": DirectStdio, "gateway, stdio → stdio": GatewayStdio, "gateway, http → stdio": GatewayHttp,
    "npm mcp-proxy, http → stdio": NpmProxy, "PyPI mcp-proxy, http → stdio": PypiProxy,
    "direct, http": DirectHttp, "gateway, http → http": GatewayHttpToHttp,
}


def calls(client, tool, count, times):
    for number in range(count):
        message = f"hello {number}"
        begun = time.perf_counter()
        result = client.request("tools/call", {"name": tool, "arguments": {"message": message}})
        times.append((time.perf_counter() - begun) * 1000)
        assert result["content"][0]["text"] == f"Echo: {message}", result


def measure(contender, how_many, count):
    clients = [contender.client() for _ in range(how_many)]
    for client in clients:
        client.request("tools/list", {})
        calls(client, contender.tool, max(5, count // 20), [])
    times, failed = [], queue.SimpleQueue()

    def one(client):
        try:
            calls(client, contender.tool, count, times)
        except BaseException as error:  # noqa: BLE001: told below
            failed.put(error)

    threads = [threading.Thread(target=one, args=(client,)) for client in clients]
    begun = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took = time.perf_counter() - begun
    if not failed.empty():
        raise failed.get()
    memory = resident(contender.pids(clients))
    for client in clients:
        client.close()
    return statistics.median(times), how_many * count / took, memory


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer calls and rounds")
    parser.add_argument("--only", default="", help="only contenders with this in their name")
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    parser.add_argument("--portcullis", type=pathlib.Path, default=target / "release/portcullis")
    options = parser.parse_args()
    for needed in ("PORTCULLIS_TEST_NODE", "PORTCULLIS_TEST_EVERYTHING"):
        if needed not in os.environ:
            sys.exit(f'{needed} is missing: eval "$(./check peers)"')
    count, rounds = (100, 2) if options.quick else (1000, 5)
    figures = {}
    for _ in range(rounds):
        for name, kind in CONTENDERS.items():
            if options.only not in name:
                continue
            for clients in (1, 8):
                folder = pathlib.Path(tempfile.mkdtemp(prefix="bench-mcp-"))
                contender = kind(folder, options)
                try:
                    figures.setdefault((name, clients), []).append(measure(contender, clients, count // clients))
                finally:
                    contender.end()
                    shutil.rmtree(folder, ignore_errors=True)
                print(f"{name}, {clients}: {figures[name, clients][-1]}", file=sys.stderr)
    print("| MCP | clients | p50 ms | added ms | calls/s | memory MB |\n|---|---|---|---|---|---|")
    for (name, clients), rows in figures.items():
        p50, rate, memory = (statistics.median(column) for column in zip(*rows))
        direct = figures.get((CONTENDERS[name].direct, clients))
        added = f"{p50 - statistics.median(row[0] for row in direct):.2f}" if direct else ""
        print(f"| {name} | {clients} | {p50:.2f} | {added} | {rate:.0f} | {memory:.1f} |" if memory else f"| {name} | {clients} | {p50:.2f} | | {rate:.0f} | |")


if __name__ == "__main__":
    main()
