// One way to ask Gnomon for something: an operation by name, its parts as they come.

/** A refusal, in the gateway's own words. */
export class Refused extends Error {
  constructor(status, refusal) {
    super([refusal.message, refusal.next_step].filter(Boolean).join(" "));
    this.status = status;
    this.code = refusal.code;
  }
}

/** Gnomon did not answer at all. */
export class Gone extends Error {}

/**
 * POST /api/<operation>. Calls onPart for each part and resolves to the result.
 * Throws Refused, Gone, or the AbortError of its signal, which calls the operation off.
 */
export async function ask(operation, args = {}, { onPart = () => {}, signal } = {}) {
  let last;
  try {
    const response = await fetch(`/api/${operation}`, {
      method: "POST",
      headers: { "Content-Type": "application/json", Accept: "application/x-ndjson" },
      body: JSON.stringify(args),
      signal,
    });
    if (!response.ok) throw new Refused(response.status, (await response.json()).err);
    for await (const line of lines(response.body)) {
      last = JSON.parse(line);
      if (last.part !== undefined) onPart(last.part);
    }
  } catch (error) {
    if (error instanceof Refused || error.name === "AbortError") throw error;
    throw new Gone();
  }
  if (last?.err) throw new Refused(200, last.err);
  if (last?.ok === undefined) throw new Gone(); // the stream broke off before its result
  return last.ok;
}

async function* lines(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const pieces = (rest + value).split("\n");
    rest = pieces.pop();
    yield* pieces;
  }
}
