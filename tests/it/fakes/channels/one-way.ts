#!/usr/bin/env bun
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'

// 创建 MCP 服务器并将其声明为通道
const mcp = new Server(
  { name: 'webhook', version: '0.0.1' },
  {
    // 此键使其成为通道 — Claude Code 为其注册监听器
    capabilities: { experimental: { 'claude/channel': {} } },
    // 添加到 Claude 的系统提示中，以便它知道如何处理这些事件
    instructions: 'Events from the webhook channel arrive as <channel source="webhook" ...>. They are one-way: read them and act, no reply expected.',
  },
)

// 通过 stdio 连接到 Claude Code（Claude Code 生成此进程）
await mcp.connect(new StdioServerTransport())

// 启动 HTTP 服务器，将每个 POST 转发给 Claude
Bun.serve({
  port: 8788,  // 任何开放端口都可以
  // 仅限 localhost：此机器外部无法 POST
  hostname: '127.0.0.1',
  async fetch(req) {
    const body = await req.text()
    await mcp.notification({
      method: 'notifications/claude/channel',
      params: {
        content: body,  // 成为 <channel> 标签的正文
        // 每个键成为标签属性，例如 <channel path="/" method="POST">
        meta: { path: new URL(req.url).pathname, method: req.method },
      },
    })
    return new Response('ok')
  },
})
