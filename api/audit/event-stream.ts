const HEARTBEAT_MS = 15_000;
/** The minimum time between two messages of the same category, which allows four messages a second. */
const MIN_INTERVAL_MS = 250;
const RETRY_MS = 2_000;
/**
 * The maximum number of messages that are buffered for a slow reader. Later changes are sent after it has read them.
 */
const MAX_WAITING = 64;

const HEARTBEAT = 'event: heartbeat\ndata: {}\n\n';

/** A message of the stream. `token` is null for a change without an event in the log. */
type Message = { readonly category: string; readonly token: string | null };

/** A stream of server-sent events. Each event tells a browser in which category something has changed. */
export type EventStream = {
  readonly body: ReadableStream<Uint8Array>;
  /** Sends one message per category. If a category has an unsent message, the newer one replaces it. */
  readonly send: (changes: readonly Message[]) => void;
  readonly end: () => void;
};

/** Opens a stream. `onEnd` is called once, when the stream ends or the client disconnects. */
export const openEventStream = (onEnd: () => void, now: () => number = Date.now): EventStream => {
  const encoder = new TextEncoder();
  const waiting = new Map<string, string | null>();
  const sentAt = new Map<string, number>();
  let controller!: ReadableStreamDefaultController<Uint8Array>;
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;

  const write = (text: string): void => controller.enqueue(encoder.encode(text));

  const flush = (): void => {
    clearTimeout(timer);
    timer = undefined;
    if (isOver) return;
    let delay = Number.POSITIVE_INFINITY;
    for (const [category, token] of waiting) {
      if ((controller.desiredSize ?? 0) <= 0) return;
      const left = (sentAt.get(category) ?? Number.NEGATIVE_INFINITY) + MIN_INTERVAL_MS - now();
      delay = left > 0 ? Math.min(delay, left) : delay;
      if (left > 0) continue;
      waiting.delete(category);
      sentAt.set(category, now());
      write(`event: ${category}\n${token === null ? '' : `id: ${token}\n`}data: {}\n\n`);
    }
    if (waiting.size > 0) timer = setTimeout(flush, delay).unref();
  };

  const heartbeat = setInterval(() => (controller.desiredSize ?? 0) > 0 && write(HEARTBEAT), HEARTBEAT_MS).unref();

  const finish = (): boolean => {
    if (isOver) return false;
    isOver = true;
    clearInterval(heartbeat);
    clearTimeout(timer);
    onEnd();
    return true;
  };

  const body = new ReadableStream<Uint8Array>(
    {
      start: (given) => {
        controller = given;
        write(`retry: ${RETRY_MS}\n${HEARTBEAT}`);
      },
      pull: flush,
      cancel: () => void finish(),
    },
    { highWaterMark: MAX_WAITING },
  );

  return {
    body,
    send: (changes) => {
      for (const { category, token } of changes) waiting.set(category, token);
      flush();
    },
    end: () => void (finish() && controller.close()),
  };
};
