// A small back end for a page that chats with Claude Code through Portcullis. Node 20, nothing to install.
//
//   GATE_TOKEN=... node server.mjs
//
// The token stays here: the page never sees it. Whoever may use this page acts with its rights, so it listens on this
// machine alone and answers only to its own page.

import { readFile } from 'node:fs/promises'
import http from 'node:http'

const gate = new URL(process.env.GATE_URL ?? 'http://127.0.0.1:8788')
const token = process.env.GATE_TOKEN
const port = Number(process.env.PORT ?? 3456)
const longestBody = 100_000

if (!token) {
  console.error('set GATE_TOKEN to a token of the gate that may start sessions and answer prompts')
  process.exit(2)
}

const files = {
  '/': ['index.html', 'text/html; charset=utf-8'],
  '/page.js': ['page.js', 'text/javascript; charset=utf-8'],
  '/page.css': ['page.css', 'text/css; charset=utf-8'],
}

// What the page asks for, and where the gate answers it.
const routes = {
  'POST /chat': '/api/chat',
  'GET /pending': '/api/permissions/pending',
  'POST /confirm': '/api/permissions/confirm',
}

const safe = {
  'Content-Security-Policy': "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; frame-ancestors 'none'",
  'X-Content-Type-Options': 'nosniff',
  'Cache-Control': 'no-store',
}

const server = http.createServer((request, response) => {
  answer(request, response).catch(error => {
    if (!response.headersSent) fail(response, error.status ?? 502, error.message)
    else response.destroy()
  })
})

async function answer(request, response) {
  const path = new URL(request.url, 'http://localhost').pathname
  if (!isOwnPage(request)) return fail(response, 403, 'only the page of this server may ask')
  if (request.method === 'GET' && files[path]) {
    const [name, type] = files[path]
    const file = await readFile(new URL(name, import.meta.url))
    response.writeHead(200, { ...safe, 'Content-Type': type }).end(file)
    return
  }
  const there = routes[`${request.method} ${path}`]
  if (!there) return fail(response, 404, 'no such page')
  const body = request.method === 'POST' ? await read(request) : undefined
  await pass(there, request.method, body, response)
}

// A page of another site can send a request here, but it cannot hide where it comes from.
function isOwnPage(request) {
  const { host = '', origin } = request.headers
  const { port } = server.address()
  const ours = [`localhost:${port}`, `127.0.0.1:${port}`]
  const site = request.headers['sec-fetch-site'] ?? 'same-origin'
  return ours.includes(host) && (origin === undefined || origin === `http://${host}`) && ['same-origin', 'none'].includes(site)
}

async function read(request) {
  const parts = []
  let length = 0
  for await (const part of request) {
    length += part.length
    if (length > longestBody) throw Object.assign(new Error('the body is too large'), { status: 413 })
    parts.push(part)
  }
  return Buffer.concat(parts)
}

// The gate's answer as it comes: a chat is a stream, and goes on for as long as the session does.
function pass(path, method, body, response) {
  return new Promise((resolve, reject) => {
    const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' }
    const asked = http.request(new URL(path, gate), { method, headers }, answered => {
      response.writeHead(answered.statusCode, { ...safe, 'Content-Type': answered.headers['content-type'] ?? 'text/plain' })
      answered.pipe(response)
      answered.on('end', resolve).on('error', reject)
    })
    asked.on('error', () => reject(new Error(`the gate at ${gate.origin} does not answer; \`portcullis up\` starts one`)))
    response.on('close', () => asked.destroy())
    asked.end(body)
  })
}

function fail(response, status, message) {
  response.writeHead(status, { ...safe, 'Content-Type': 'application/json' }).end(`${JSON.stringify({ message })}\n`)
}

server.listen(port, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`))
