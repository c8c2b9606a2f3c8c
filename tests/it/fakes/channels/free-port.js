// Gives a server that wants a fixed port a free one, and says which: tests run at the same time, and a gate of the
// machine's user may have the fixed one. The text of the server stays as it is.
const { renameSync, writeFileSync } = require('fs')

const serve = Bun.serve
Bun.serve = options => {
  const server = serve({ ...options, port: 0 })
  const file = process.env.CHANNEL_PORT_FILE
  writeFileSync(`${file}.new`, String(server.port))
  renameSync(`${file}.new`, file)
  return server
}
