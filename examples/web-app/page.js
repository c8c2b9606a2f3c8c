// What comes from the agent is text and nothing else: it goes into the page as textContent, never as HTML.

const form = document.querySelector('#chat')
const messages = document.querySelector('#messages')
const pending = document.querySelector('#pending')
let conversation // the session that the next prompt goes on with

form.addEventListener('submit', async event => {
  event.preventDefault()
  const { prompt, mode } = Object.fromEntries(new FormData(form))
  form.reset()
  show('You', prompt)
  const asking = setInterval(look, 500)
  try {
    await chat({ prompt, permissionMode: mode, resume: conversation })
  } catch (error) {
    show('Error', error.message)
  } finally {
    clearInterval(asking)
    look()
  }
})

// A chat is answered with one event for each message of the session, until it is over.
async function chat(body) {
  const response = await fetch('/chat', { method: 'POST', body: JSON.stringify(body) })
  if (!response.ok) throw new Error((await response.json()).message)
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  for (;;) {
    const { value, done } = await reader.read()
    if (done) return
    const events = (rest + value).split('\n\n')
    rest = events.pop()
    for (const event of events) {
      if (event.startsWith('data: ')) tell(JSON.parse(event.slice(6)))
    }
  }
}

function tell(message) {
  conversation = message.session_id ?? conversation
  if (message.type === 'assistant') {
    for (const block of message.message.content) {
      if (block.type === 'text') show('Claude', block.text)
      if (block.type === 'tool_use') show('Tool', `${block.name} ${JSON.stringify(block.input)}`)
    }
  }
  if (message.type === 'result' && message.is_error) show('Error', message.result ?? message.subtype)
}

// The prompts that are open, each with two buttons.
async function look() {
  const response = await fetch('/pending')
  if (!response.ok) return
  const { pending: open } = await response.json()
  pending.replaceChildren(...open.map(ask => {
    const item = document.createElement('li')
    const answer = (words, approved) => {
      const button = part('button', words)
      button.addEventListener('click', () => confirm(ask.id, approved))
      return button
    }
    const what = ask.input ? JSON.stringify(ask.input, null, 2) : ask.preview
    item.append(part('b', ask.toolName), part('p', ask.description), part('pre', what), answer('Allow', true), answer('Deny', false))
    return item
  }))
}

async function confirm(id, approved) {
  const response = await fetch('/confirm', { method: 'POST', body: JSON.stringify({ id, approved }) })
  const { success } = await response.json()
  if (!success) show('Error', 'someone was faster, or nobody waits for it any more')
  look()
}

function show(who, text) {
  const item = document.createElement('li')
  item.append(part('b', who), part('pre', text))
  messages.append(item)
  item.scrollIntoView()
}

function part(name, text) {
  const element = document.createElement(name)
  element.textContent = text
  return element
}
