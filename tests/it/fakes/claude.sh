#!/bin/sh
# Claude Code played by hand, for what the real one does only when it is older, newer or broken.
# It answers `initialize`, and for a prompt does what $PLAY says. What it is told goes to $HEARD, one line each.
say() { printf '%s\n' "$1"; }
id_of() { printf '%s' "$1" | sed 's/.*"request_id":"\([^"]*\)".*/\1/'; }
ASK='{"type":"control_request","request_id":"lost","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"ls"},"tool_use_id":"t1"}}'
RESULT='{"type":"result","subtype":"success","is_error":false,"result":"played"}'
asked=0
while IFS= read -r line; do
    printf '%s\n' "$line" >> "$HEARD"
    case $line in
    *'"subtype":"initialize"'*)
        pending=''
        if [ "$asked" = 1 ]; then pending=$ASK; fi
        say '{"type":"control_response","response":{"subtype":"success","request_id":"'"$(id_of "$line")"'","response":{'"$SUPPORTED"'"pending_permission_requests":['"$pending"']}}}'
        ;;
    *'"type":"user"'*)
        case $PLAY in
        lost) asked=1; say '{"type":"control_request", torn' ;;
        odd)
            say '[SandboxDebug] not for us'
            say '{"type":"something_new","value":7}'
            say '{"type":"control_request","request_id":"o1","request":{"subtype":"make_coffee"}}'
            say '{"type":"control_request","request_id":"o2","request":{"subtype":"mcp_message","server_name":"nobody","message":{"method":"ping","id":1}}}'
            say '{"type":"control_request","request_id":"o3","request":{"subtype":"can_use_tool","tool_name":7}}'
            say '{"type":"control_request","request_id":"o4","request":{"subtype":"hook_callback","callback_id":"nobody"}}'
            ;;
        esac
        ;;
    *'"request_id":"lost"'*|*'"request_id":"o4"'*) say "$RESULT" ;;
    esac
done
