// Every text of the page, in English and Chinese. `t("key", {name: value})` puts values where {name} stands.

import { ERRORS } from "./errors-zh.js";
import { PHRASES } from "./phrases-zh.js";
import { SENTENCES } from "./sentences-zh.js";
import { zh } from "./words-zh.js";

export const en = {
  sessions: "Sessions", log: "Log", devices: "Devices", start: "Start a session", settings: "Settings",
  away: "The gate is away. What you see may be old; it is tried again by itself.",
  waiting: "waiting for you", working: "working", idle: "idle", ended: "ended", paused: "paused", state_away: "away",
  prompts: "Prompts",
  noSessions: "No session is connected.",
  noSessionsHow: "Start one here, or run Claude Code in a project after “portcullis install --hooks”.",
  noSessionsAsk: "Run Claude Code in a project after “portcullis install --hooks”.",
  alarm: "ALARM", ranUnasked: "{label} ran {tool} although a person had to be asked, and nothing shows that anybody was.",
  showEnded: "Show ended ones", hideEnded: "Hide ended ones",
  allow: "Allow", allowOnce: "Allow once", forSession: "Allow for this session", always: "Always allow",
  more: "More answers", deny: "Deny", denyWhy: "Deny with a message", denyStop: "Deny and stop the turn", why: "Message to the agent",
  edit: "Edit what runs", editHow: "The rules are asked again about what you write.", send: "Send", cancel: "Cancel",
  alsoMode: "The session changes to mode {mode}.",
  really: "Really allow this?", yesAllow: "Yes, allow", badJson: "This is no valid JSON.",
  asks: "{label} asks", wants: "wants to use {tool}", risk_low: "low risk", risk_medium: "medium risk", risk_high: "high risk", risk_unknown: "risk not known",
  previewOnly: "Preview only: more may run than is shown here.", held: "Held before it runs. Without an answer it is denied.",
  saysAgent: "The agent says", reason: "Why it is asked", until: "Can be answered until", quorum: "{n} people must allow it",
  allowedBy: "Allowed by {names}", wholeInput: "Whole input",
  ownWords: "In your own words", answer: "Answer", approvePlan: "Approve the plan",
  goOnIn: "Go on in", keepPlanning: "Keep planning", recorded: "Recorded.", answeredBy: "Answered by {by} {via}: {behavior}.", questionAnswered: "Answered by {by} {via}.", tooLate: "Your answer came too late, and does not count.",
  confirmed: "confirmed", notConfirmed: "not confirmed yet", missing: "{n} more must allow it.", gone: "No longer asked: {why}",
  noRight: "This device may look, not answer.",
  talk: "Message", readNext: "Read at the next tool call, or when the turn ends.", readNow: "It wakes the session.", readIdle: "Read with the session's next prompt or tool call: nothing wakes it.", readChannel: "Handed to Claude Code at once. Whether it reads it is known when it answers.", readNever: "An MCP client: it calls tools and takes no messages.",
  readLater: "It waits until the session is back.", readEnded: "The session has ended; the message goes to the one that continues it.",
  nothingSaid: "Nothing was said here yet.", redelivered: "sent again", informs: "from outside: informs only", erased: "(erased)", edited: "edited",
  pause: "Pause", goOn: "Go on", interrupt: "Interrupt", end: "End", reallyEnd: "End this session?", mode: "Mode",
  pausedBy: "Paused by {by}: no tool runs.", pauseUnconfirmed: "{by} has paused it. That is recorded, and the session has not confirmed it yet: tools may still run.",
  pauseUnenforced: "{by} has paused it. That is recorded, but nothing enforces it: the session is connected by the channel alone, and its tools run. “portcullis install --hooks” in its folder lets it be paused.", orderRecorded: "Recorded. The session has not confirmed it yet.",
  outside: "It has read text from {sender}: what it runs or sends is asked for.",
  connectedBy: "connected by {how}", since: "since", eventsWait: "{n} waiting", back: "Back", folder: "Folder", promptText: "What should it do?",
  lastActive: "active", defaultMode: "Default mode of this folder", startsIn: "Sessions start in", setHere: "Set here", setBy: "by {by}", nothingSet: "nothing",
  configFile: "config.toml", defaultHere: "In this folder and below, sessions start in", asConfigured: "as set above it, or in config.toml", setDefault: "Set as default", rulesOfFolder: "Rules and default mode",
  asUsual: "Default of this folder", usualMode: "As set for this folder: {mode}", unreachable: "The gate cannot be reached at the moment.",
  starting: "Starting …", label: "Name (optional)",
  mode_default: "asks before it changes or runs something", mode_acceptEdits: "changes and removes files unasked, also by rm, mv, cp or sed; asks before it runs something else",
  mode_plan: "only reads, and makes a plan", mode_auto: "decides by itself what to ask",
  mode_dontAsk: "what would be asked is denied", mode_bypassPermissions: "asks nothing: rules and protected files still hold",
  search: "Search", older: "Older", nothingFound: "Nothing fits.", noLog: "This device may not read the log.",
  rights: "May", right_talk: "talk", right_review: "answer", right_start: "start sessions", right_admin: "administer", linkedSince: "linked", revoke: "Revoke", reallyRevoke: "Revoke {name}?", thisDevice: "this one",
  forget: "Forget this device's key", language: "Language",
  linkFirst: "This browser is not linked yet", hasKey: "This browser is linked already. Linking it again makes another device of it, which may do what this link lets it.", keepDevice: "Go on as it is",
  linkHow: "Run “portcullis page” at the computer where the gate runs, or “portcullis device link” for a phone, and open the link. One that was opened and not used still works within its two minutes: open it again.",
  pasteLink: "Or paste the link here", takeLink: "Use this link", noLinkThere: "There is no link in this: it has “#link=” in it.",
  forHomeScreen: "For a page on the home screen: copy the link instead, open the page there and paste it. It works once, within two minutes.", copyLink: "Copy the link",
  linking: "Linking …", linkUsed: "The link was used before or is too old. Links work once, for two minutes.", called: "What is this device called?",
  link: "Link this device", failed: "That did not work: {why}", revoked: "This device is no longer linked.",
  about: "About", about_all: "Everything", about_ask: "Prompts", about_event: "Events", about_session: "Sessions", about_person: "People", about_token: "Tokens and devices",
  loading: "Loading …", details: "Details", nothingYet: "Nothing fits so far.",
  verify: "Check the chain", verifying: "Checking …", chainOk: "{n} records, none changed, removed or reordered. Head: {head}…",
  chainBroken: "The journal is broken at record {seq}: {what}",
  rules: "Rules", whatWould: "What would happen to this call?", tool: "Tool", callInput: "Command, path or address", checkCall: "Ask the rules",
  rulesHere: "Rules that count here", decision_allow: "allow", decision_ask: "ask", decision_deny: "deny",
  ifTrusted: "If the project's rules were trusted:", lookedAt: "By Portcullis's rules, the mode, and the permission rules in Claude Code's settings of this folder, your user and this machine. What a session was given besides, on its command line or while it runs, may change it.", notLookedAt: "By Portcullis's rules and the mode. Claude Code's own settings of this folder cannot all be read: more may be asked for or denied there.",
  noRules: "There are no rules for this folder.", noRulesHow: "Write one: portcullis rules add allow 'Bash(npm test *)'.",
  onlySessions: "only sessions {label}", notTrusted: "does not count: the project's file is not trusted",
  people: "People", role: "Role", role_sender: "sender: may inform", role_reviewer: "reviewer: may direct and answer", role_admin: "admin: may do everything", role_agent: "agent: posts hooks", role_owner: "owner",
  noPeople: "Nobody else is let in.", noPeopleHow: "Make a token for someone below, or pair a user of a chat.",
  remove: "Remove", reallyRemove: "Remove {name}, with all tokens?", nobodyWaits: "Nobody waits to be let in.", waitingPeople: "Waiting to be let in",
  pairHow: "Ask them for the code that they were shown.", code: "Code", name: "Name", letIn: "Let in",
  tokens: "Tokens", expires: "expires", expired: "expired", neverExpires: "does not expire", reallyRevokeToken: "Revoke this token of {name}?",
  newToken: "New token", newTokenHow: "It is shown this once. Programs send it as “Authorization: Bearer TOKEN”.", addToken: "Make a token",
  finished: "{label} is done", died: "{label} has ended", mute: "No notifications", unknownSession: "No such session",
  notify: "Turn notifications on", notified: "This browser tells you when something waits, is done or has ended, while this page is open, in a tab or in the background.",
  notNotified: "This browser can tell you when something waits, also while you look at something else.", cannotNotify: "Notifications are blocked in this browser's settings.",
  attach: "Attach", takeAway: "Take {name} away", uploading: "Sending the files …", sendingNow: "Sending: {text}", tooManyFiles: "At most {n} files go along.", tooLarge: "{name} is larger than {most}.",
  conversation: "Conversation", newer: "Newer", replied: "replied", event_waiting: "waiting", event_delivered: "delivered", event_seen: "seen", event_expired: "expired", event_dropped: "dropped", event_dead: "not delivered",
  turnInterrupted: "The turn was interrupted. {why}", turnFailed: "The turn failed. {why}", callResult: "Result", callFailed: "It failed", cut: "The rest is too long to be shown here.",
  call_running: "running", call_done: "done", call_failed: "failed", call_interrupted: "interrupted", continue: "Continue",
  by_channel: "the channel", by_hooks: "hooks", by_run: "Portcullis, which started it", by_gateway: "the gateway", by_acp: "an editor",
  oneElsewhere: "1 prompt waits for you", manyElsewhere: "{n} prompts wait for you",
  orContinue: "Or go on with a conversation", noConversations: "There is none in these folders yet.", goThere: "Go there",
  handedOver: "handed over", differs: "What ran was not what was shown.",
  moreLine: "1 more row of text below", moreLines: "{n} more rows of text below", showAll: "Show all",
  notAllSeen: "You have not looked at all of it: {more}.", allowUnseen: "Allow without looking", youAllowed: "You allowed it; {n} more must.",
  lastPrompt: "It was told", lastWords: "It said last",
  newBelow: "New messages", toNewest: "To the newest", theUser: "the user", atTerminal: "at the terminal", event_settled: "settled",
  call_waiting: "waits for an answer", call_denied: "denied", call_sentBack: "sent back", goesOn: "It goes on here",
  endedHow: "This session has ended. Continue it to talk to it.", endedMode: "It was in {mode} and goes on in the default mode of its folder.", unknownHow: "The gate does not know this session. It may have ended long ago.",
  enterSends: "Enter sends, Shift+Enter begins a line.", answerAll: "Answer every question first.", planChange: "What should change? (optional)",
  asksYou: "asks you something", hasPlan: "has made a plan", noPlan: "No text of the plan came with it.", planTold: "The agent's words. They did not come with the prompt; Portcullis has them from Claude Code.", answered: "Answered", planApproved: "Plan approved", allowedEdited: "Allowed, with another input",
  via_here: "on this device", via_named: "on {device}", via_device: "on another device", via_terminal: "at the terminal", via_socket: "on the command line", via_http: "over the API", via_other: "by {via}",
  editedBy: "edited by {by}", asWritten: "As the agent wrote it", aboutSession: "More about this session",
  reallyEdited: "Run this instead?", nothingToRun: "There is nothing to run. Deny it instead, or write what should run.", sayWhat: "Say what it should do.", call_queued: "comes next",
  beginningUnseen: "its beginning was not in sight", partUnseen: "a part of it was never on the screen", columnsUnseen: "a table has more columns to the side", planWords: "These words go with Keep planning. Press again to approve without them.",
  reallyBypass: "In this mode nothing is asked: whatever the agent wants to run, runs. Really?", refusedAfter: "Claude Code refused it all the same", unknownAfter: "begun, and nobody knows how far it ran",
  justMoved: "This prompt has just moved or come into sight. Look at it, then press again.",
  reallyAdmin: "Make {name} an admin, who may do everything that you may on this page?", reallyRevokeHere: "Revoke {name}, the device that you are using? This page closes at once.",
  reallySession: "Really allow this, and what is like it, until the session ends?", reallyAlways: "Really allow this, and what is like it, always?", reallyForget: "Forget this device's key? This browser is out then; another link needs the computer where the gate runs.",
  noFolders: "No folder is configured in which sessions may be started. Write into config.toml on the gate's computer, with a folder of yours:", noFoldersHow: "Then start the gate anew: “portcullis stop”, “portcullis up”. “portcullis help settings” says where that file is. A Claude Code in a terminal needs none of this.", wrote: "{name} wrote", linkWhat: "This browser gets a key of its own for the gate at {host}. With it you see your sessions and answer their prompts here, until you revoke it.", comma: ", ", inBrackets: " ({what})", asksNothing: "asks nothing", moreElsewhere: "{n} more wait for you", oneMoreElsewhere: "1 more waits for you", otherElsewhere: "{n} waiting in other sessions", readPaused: "It is read, but no tool runs until Go on.", resumed: "Tools may run again. If it has stopped, tell it to go on.",
  notDrawn: "{n} more lines are too many to be drawn: portcullis ask show has them", of: "{name}: ", morePrompts: "{n} more wait. They come up as these are answered.", toSessions: "To the sessions",
  perhapsOpen: "Something was said there within the last ten minutes: it may still be open in a terminal. Two that go on with one conversation do not see each other. Continue it here all the same?",
  leftToClient: "Claude Code decides", leftToClientHow: "No rule asks for it. In mode auto Claude Code's own check lets it run, denies it, or asks.",
  rulesHow: "Rules are written at the command line: portcullis rules add ask RULE, portcullis rules remove RULE, with the rule in quotes as it stands here.",
  noNotify: "Turn notifications off", notifiedAlways: "This browser tells you when something waits, also while this page is closed; and when a session is done or has ended, while it is open.",
  lastUsed: "last used", neverUsed: "not used yet",
  linkAnother: "Link another device", makeLink: "Make a link", also_start: "It may also start sessions", also_admin: "It may also administer the gate", qr: "QR code of the link",
  anotherDevice: "The link works once, for two minutes. The device may then talk to sessions and answer prompts.",
  reallyAdminLink: "Make a link that lets whoever has it administer the gate: people, tokens, devices and rules?",
  linkOpen: "Open this on the device, or scan the code:", linkHere: "Open this in another browser on this computer. Other devices do not reach the gate: public_url is not set. “portcullis device link” says how to set it.",
  linkTunnel: "Open it on the computer where the tunnel ends. There is no code for a phone: public_url leads each device to itself.",
  linkElsewhere: "Links for other devices are made on the gate's own computer: run “portcullis device link” there, or open this page there with “portcullis page”.",
  linkOver: "The link has run out.", deviceLinked: "{name} is linked.",
  tokenOf: "The token of {name}. It is shown this once:", copy: "Copy", copied: "Copied.",
  mcp: "MCP", servers: "MCP servers", serversHow: "Those that may be used are started or reached to see how they are. Approving counts for the gateway and for “portcullis mcp”; what Claude Code itself starts is approved in Claude Code. “portcullis mcp disable NAME” in the folder takes one out of use there.", lookAgain: "Look again", connecting: "Connecting …",
  noServers: "No MCP server is configured for this folder.", noServersHow: "Add one: portcullis mcp add NAME -- COMMAND.",
  approve: "Approve", yesApprove: "Yes, approve", reallyApprove: "What is shown here will run on the gate's computer, or be reached from it. Approve it as it stands?",
  signIn: "Sign in", openSignIn: "Open the sign-in page", signInHow: "Open it on the gate's own computer: it leads back there. Then look again.", signedIn: "Nobody has to sign in.",
  server_connected: "connected", server_needs_auth: "needs sign-in", server_failed: "failed", server_pending: "pending", server_disabled: "disabled",
  server_not_approved: "not approved", server_refused: "refused", server_wrong: "wrong entry", server_hidden: "hidden",
  replacesLine: "Replaces the file that is there: 1 line.", replacesLines: "Replaces the file that is there: {n} lines.", replacesBytes: "Replaces the file that is there: {size}.", replacesUnseen: "What goes is not shown here.",
  leadsTo: "An address in this leads to {hosts}, which is not what it shows.", keysHow: "Keys: a allows the first prompt once, d denies it.",
  mcpServer: "MCP server", arguments: "Arguments", noArguments: "Without arguments.",
};

let language = localStorage.getItem("portcullis.language") ?? (navigator.language.startsWith("zh") ? "zh-CN" : "en");
apply();

function apply() {
  document.documentElement.lang = language;
}

export const currentLanguage = () => language;

/** Times and numbers are written as the browser's user is used to, where that is in the page's language. */
export const locale = () => navigator.languages.find((each) => each.split("-")[0] === language.split("-")[0]) ?? language;

/** `1.5 MiB`. */
export function size(bytes) {
  const [value, unit] = bytes >= 1 << 20 ? [bytes / (1 << 20), "MiB"] : bytes >= 1 << 10 ? [bytes / (1 << 10), "KiB"] : [bytes, "B"];
  return `${new Intl.NumberFormat(locale(), { maximumFractionDigits: value < 10 ? 1 : 0 }).format(value)} ${unit}`;
}

export function setLanguage(chosen) {
  language = chosen;
  localStorage.setItem("portcullis.language", chosen);
  apply();
}

/** A fixed sentence of the gate, in the language of the page; what is not known stays as it is. */
export const phrase = (text) => translated(text, PHRASES);

/** What an error of the gate is in Chinese, by its number; nothing in another language, and where it is not known. */
export const errorInChinese = (number) => (language === "zh-CN" ? ERRORS[number] : undefined);

/** A sentence of the log. */
export const sentence = (text) => {
  const said = translated(text, SENTENCES);
  // How much was left off of what someone wrote is said by the gate.
  return said === text ? said : said.replace(/… \[(\d+) more bytes\]/, "…［还有 $1 字节］");
};

/** How a part of a sentence is put into the Chinese one: as it is, translated, in brackets where it is there, or behind a colon. */
const PUT = { $: (part) => part, "@": (part) => phrase(part), "#": (part) => (part ? `（${part}）` : " "), "%": (part) => part.replace(/^: /, "：") };

/** What is longer holds what someone else wrote, and is not looked through. */
const LONGEST = 1000;

function translated(text, table) {
  if (language !== "zh-CN" || text.length > LONGEST) return text;
  for (const [whole, chinese] of table) {
    const match = text.match(whole);
    if (match) return chinese.replace(/([$@#%])(\d)/g, (_, kind, part) => PUT[kind](match[part] ?? ""));
  }
  return text;
}

export function t(key, values = {}) {
  const text = (language === "zh-CN" ? zh[key] : undefined) ?? en[key] ?? key;
  return text.replace(/\{(\w+)\}/g, (_, name) => String(values[name] ?? ""));
}
