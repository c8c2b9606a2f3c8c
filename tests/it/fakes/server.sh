#!/bin/sh
# A small channel server: one tool `say`, which answers and also sends what it was given as an event.
# It exists to test the test support itself; the product is never tested against it.
say() { printf '%s\n' "$1"; }

while IFS= read -r line; do
    id=$(printf '%s' "$line" | sed -nE 's/.*"id":("[^"]*"|[0-9]+).*/\1/p')
    case $line in
    *'"method":"server/discover"'*)
        say "{\"jsonrpc\":\"2.0\",\"id\":$id,\"error\":{\"code\":-32601,\"message\":\"Method not found\"}}" ;;
    *'"method":"initialize"'*)
        say "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"experimental\":{\"claude/channel\":{},\"claude/channel/permission\":{}},\"tools\":{}},\"serverInfo\":{\"name\":\"small\",\"version\":\"1\"},\"instructions\":\"Say it.\"}}" ;;
    *'"method":"tools/list"'*)
        say "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"tools\":[{\"name\":\"say\",\"description\":\"Says it\",\"inputSchema\":{\"type\":\"object\",\"properties\":{\"text\":{\"type\":\"string\"}}}}]}}" ;;
    *'"method":"tools/call"'*)
        text=$(printf '%s' "$line" | sed -nE 's/.*"text":"([^"]*)".*/\1/p')
        say "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/claude/channel\",\"params\":{\"content\":\"$text\",\"meta\":{\"chat_id\":\"c1\",\"not-kept\":\"x\"}}}"
        say "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"said $text\"}]}}" ;;
    *'"method":"notifications/claude/channel/permission_request"'*)
        code=$(printf '%s' "$line" | sed -nE 's/.*"request_id":"([^"]*)".*/\1/p')
        say "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/claude/channel/permission\",\"params\":{\"request_id\":\"$code\",\"behavior\":\"deny\"}}" ;;
    *'"method":'*) ;;
    *) say "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"Parse error\"}}" ;;
    esac
done
