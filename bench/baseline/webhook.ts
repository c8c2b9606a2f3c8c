// The two-way channel server with permission relay that the channel documents describe, as anyone would
// write it from them: the official MCP SDK on stdio, Bun.serve for HTTP, nothing kept, nothing tuned.
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { z } from 'zod'

const trusted = new Set(['dev'])
const VERDICT = /^\s*(y|yes|n|no)\s+([a-km-z]{5})\s*$/i

// Everyone who listens on GET /events is told everything.
const listening = new Set<(chunk: string) => void>()
function tell(text: string) {
  const chunk = text.split('\n').map(line => `data: ${line}\n`).join('') + '\n'
  for (const emit of listening) emit(chunk)
}

const mcp = new Server(
  { name: 'webhook', version: '0.0.1' },
  {
    capabilities: { experimental: { 'claude/channel': {}, 'claude/channel/permission': {} }, tools: {} },
    instructions: 'Messages arrive as <channel source="webhook" chat_id="...">. Answer them with the tool reply, passing on the chat_id.',
  },
)

mcp.setRequestHandler(ListToolsRequestSchema, async () => ({
  tools: [
    {
      name: 'reply',
      description: 'Send a message back over this channel',
      inputSchema: {
        type: 'object',
        properties: {
          chat_id: { type: 'string', description: 'The conversation to reply in' },
          text: { type: 'string', description: 'The message to send' },
        },
        required: ['chat_id', 'text'],
      },
    },
  ],
}))

mcp.setRequestHandler(CallToolRequestSchema, async request => {
  if (request.params.name !== 'reply') throw new Error(`unknown tool: ${request.params.name}`)
  const { chat_id, text } = request.params.arguments as { chat_id: string; text: string }
  tell(`Reply to ${chat_id}: ${text}`)
  return { content: [{ type: 'text', text: 'sent' }] }
})

const PermissionRequest = z.object({
  method: z.literal('notifications/claude/channel/permission_request'),
  params: z.object({
    request_id: z.string(),
    tool_name: z.string(),
    description: z.string(),
    input_preview: z.string(),
  }),
})

mcp.setNotificationHandler(PermissionRequest, async ({ params }) => {
  const { tool_name, description, request_id } = params
  tell(`Claude wants to run ${tool_name}: ${description}\n\nReply "yes ${request_id}" or "no ${request_id}"`)
})

await mcp.connect(new StdioServerTransport())

let chats = 0

const http = Bun.serve({
  port: Number(process.env.PORT ?? 8788),
  hostname: '127.0.0.1',
  idleTimeout: 0, // an event stream may be silent for long
  async fetch(request) {
    const url = new URL(request.url)
    if (request.method === 'GET' && url.pathname === '/events') return listen(request)

    const body = await request.text()
    if (!trusted.has(request.headers.get('X-Sender') ?? '')) return new Response('forbidden', { status: 403 })

    const verdict = VERDICT.exec(body)
    if (verdict) {
      const behavior = verdict[1].toLowerCase().startsWith('y') ? 'allow' : 'deny'
      await mcp.notification({
        method: 'notifications/claude/channel/permission',
        params: { request_id: verdict[2].toLowerCase(), behavior },
      })
      return new Response('verdict recorded')
    }

    const chat_id = String(++chats)
    await mcp.notification({
      method: 'notifications/claude/channel',
      params: { content: body, meta: { chat_id, path: url.pathname } },
    })
    return new Response('ok')
  },
})

function listen(request: Request) {
  const stream = new ReadableStream({
    start(controller) {
      controller.enqueue(': connected\n\n')
      const emit = (chunk: string) => controller.enqueue(chunk)
      listening.add(emit)
      request.signal.addEventListener('abort', () => listening.delete(emit))
    },
  })
  return new Response(stream, { headers: { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-cache' } })
}

// The benchmark lets the system choose the port, and learns it here.
console.error(`ready http://127.0.0.1:${http.port}`)
