// In place of the gate's answer: a stream of ten thousand entries as agents make them.
(() => {
  const own = window.fetch;
  const words = "It **reads** the `file`, see [docs](https://docs.example/x), and goes on. ".repeat(6);
  const long = (n) => `number ${n}\n\n${words}\n\n- one\n- two\n\n\`\`\`\nlet x = ${n};\n\`\`\``;
  const said = (n) => ({ message: `m${n}`, block: 0, text: n % 4 ? long(n) : `number ${n}` });
  const kind = (n) => {
    if (n % 5 === 3) return { call: { call: `c${n}`, tool: "Bash", input: { command: `cargo test number_${n}` } } };
    if (n % 5 === 4) return { result: { call: `c${n - 1}`, text: "ok. ".repeat(200) } };
    return { text: said(n) };
  };
  const entry = (n) => `data: ${JSON.stringify({ entry: { n, at: 1e12 + n, ...kind(n) } })}\n\n`;
  window.fetch = (path, ...more) => {
    if (!String(path).includes("/stream?")) return own(path, ...more);
    // It stays open, as the gate's does.
    const start = (stream) => {
      const bytes = new TextEncoder();
      for (let first = 1; first <= 10000; first += 50) stream.enqueue(bytes.encode(Array.from({ length: 50 }, (_, at) => entry(first + at)).join("")));
    };
    return Promise.resolve(new Response(new ReadableStream({ start }), { status: 200 }));
  };
  return true;
})();
