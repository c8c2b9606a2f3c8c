#!/usr/bin/env python3
"""Writes bench/order.txt: the functions that run in the gate, a session, an editor's agent, and the processes of the MCP
gateway.

    cargo build --release && eval "$(./check peers)" && bench/order.py [--portcullis BINARY] [--look]

`build.rs` has the linker put them next to each other. Run it again, and build again, when the toolchain has changed (the
names of all functions do then) or when `bench/mcp.py` shows more memory than it did. The build that is looked at may be in
any order, but has to be of the release profile: others have other names. `--look` runs and writes nothing: it says how many
of the names in the list the build still has. Needs valgrind."""

import argparse, functools, http.server, json, os, pathlib, re, shutil, subprocess, sys, tempfile, threading, types, urllib.request

import mcp

LIST = mcp.ROOT / "bench/order.txt"
CALLS = 20


def watched(binary, folder):
    """A program in place of the binary: the same, with all that it runs written down."""
    script = folder / "portcullis"
    watch = ["valgrind", "--tool=callgrind", "--demangle=no", "--trace-children=yes", "--trace-children-skip=*/node,*/bun,*/claude",
             f"--callgrind-out-file={folder}/ran.%p", f"--log-file={folder}/log.%p"]
    script.write_text(f"#!/bin/sh\nexec {' '.join(watch)} {binary} \"$@\"\n")
    script.chmod(0o755)
    return script


def gateway(kind, program, folder):
    contender = kind(folder, types.SimpleNamespace(portcullis=program))
    try:
        client = contender.client()
        client.request("tools/list", {})
        mcp.calls(client, contender.tool, CALLS, [])
        # Some of them are ended in ways that leave no time to write.
        for pid in contender.pids([client]):
            subprocess.run(["callgrind_control", "--dump", str(pid)], check=True, stdout=subprocess.DEVNULL)
        client.close()
    finally:
        contender.end()


def session(program, folder):
    """Events for a session, its answer, and what people look at from a terminal."""
    contender = mcp.Portcullis(folder, types.SimpleNamespace(portcullis=program))
    owner = (folder / "state/owner.token").read_text().strip()
    try:
        channel = mcp.Stdio([contender.program, "channel", "--label", "order"], contender.env)
        for number in range(CALLS):
            head = {"Authorization": f"Bearer {owner}"}
            request = urllib.request.Request(f"http://127.0.0.1:{contender.port}/?label=order", f"event {number}".encode(), head)
            urllib.request.urlopen(request, timeout=60).read()
        seen = 0
        while seen < CALLS:
            seen += b"notifications/claude/channel" in channel.process.stdout.readline()
        channel.request("tools/list", {})
        for words in (["status"], ["ask", "list"], ["sessions", "list"]):
            subprocess.run([contender.program, *words], env=contender.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        channel.close()
    finally:
        contender.end()


class Model(http.server.BaseHTTPRequestHandler):
    """Says one word, streamed as the Messages API does."""

    def do_POST(self):
        self.rfile.read(int(self.headers.get("content-length") or 0))
        usage = {"input_tokens": 1, "output_tokens": 1}
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude", "content": [], "usage": usage}
        frames = [
            {"type": "message_start", "message": message},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "pong"}},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage},
            {"type": "message_stop"},
        ]
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for frame in frames:
            self.wfile.write(f"event: {frame['type']}\ndata: {json.dumps(frame)}\n\n".encode())

    def log_message(self, *_):
        pass


class Editor(mcp.Stdio):
    """An editor that starts its agent."""

    def __init__(self, command, env):
        self.process = subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.last = 0
        self.request("initialize", {"protocolVersion": 1, "clientCapabilities": {}})


def editor(program, folder):
    """A conversation of two prompts in an editor."""
    contender = mcp.Portcullis(folder, types.SimpleNamespace(portcullis=program))
    model = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=model.serve_forever, daemon=True).start()
    switches = ["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_TELEMETRY", "DISABLE_ERROR_REPORTING", "DISABLE_AUTOUPDATER"]
    env = {**contender.env, **dict.fromkeys(switches, "1"), "ANTHROPIC_API_KEY": "dummy-key",
           "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{model.server_port}", "PORTCULLIS_CLAUDE": os.environ["PORTCULLIS_TEST_CLAUDE"]}
    project = folder / "project"
    project.mkdir()
    try:
        agent = Editor([contender.program, "acp"], env)
        session = agent.request("session/new", {"cwd": str(project), "mcpServers": []})["sessionId"]
        for _ in range(2):
            agent.request("session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": "ping"}]})
        subprocess.run(["callgrind_control", "--dump", str(agent.process.pid)], check=True, stdout=subprocess.DEVNULL)
        agent.close()
    finally:
        contender.end()
        model.shutdown()


def ran(folder):
    """For each function that ran, in which runs of which kinds of process."""
    found = {}
    for file in sorted(folder.glob("ran.*")):
        text = file.read_text(errors="replace")
        command = re.search(r"^cmd: +\S+ ?(.*)$", text, re.M)
        words = (command.group(1) if command else "").split()
        kind = " ".join(words[:2]) if words[:1] == ["mcp"] else (words or ["?"])[0]
        for name in re.findall(r"^c?fn=\(\d+\) (\S+)$", text, re.M):
            found.setdefault(re.sub(r"'\d+$", "", name), set()).add(kind)
    return found


def functions(binary):
    """The functions of the program, by name, with address and size. Some names end with a number that stands for the crate
    and its version: they hold for crates that others wrote, and of ours until the next change."""
    listed = subprocess.run(["nm", "-S", "--defined-only", binary], check=True, capture_output=True, text=True).stdout
    rows = (line.split(None, 3) for line in listed.splitlines())
    return {row[3]: (int(row[0], 16), int(row[1], 16)) for row in rows if len(row) == 4 and row[2] in "tTwW"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", mcp.ROOT / "target"))
    parser.add_argument("--portcullis", type=pathlib.Path, default=target / "release/portcullis")
    parser.add_argument("--look", action="store_true", help="only say how much of the list is of use for this build")
    options = parser.parse_args()
    binary = options.portcullis.resolve()
    if options.look:
        names, known = LIST.read_text().split(), functions(binary)
        print(f"{sum(name in known for name in names)} of {len(names)} names are functions of {binary.name}")
        return
    folder = pathlib.Path(tempfile.mkdtemp(prefix="order-"))
    try:
        program = watched(binary, folder)
        kinds = [mcp.GatewayStdio, mcp.GatewayHttp, mcp.GatewayHttpToHttp]
        looks = [*(functools.partial(gateway, kind) for kind in kinds), session, editor]
        for number, look in enumerate(looks):
            home = folder / str(number)
            home.mkdir()
            look(program, home)
        used, known = ran(folder), functions(binary)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    kinds = sorted({kind for kinds in used.values() for kind in kinds})
    print("processes:", ", ".join(kinds), file=sys.stderr)
    names = [name for name in used if name in known]
    # What most processes use comes first; then what the same processes use, in the order that it has.
    names.sort(key=lambda name: (-len(used[name]), sorted(used[name]), known[name][0]))
    LIST.write_text("".join(f"{name}\n" for name in names))
    print(f"{len(names)} functions, {sum(known[name][1] for name in names) / 1e6:.1f} MB of "
          f"{sum(size for _, size in known.values()) / 1e6:.1f} MB", file=sys.stderr)


if __name__ == "__main__":
    main()
