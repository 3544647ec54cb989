import { setTimeout as sleep } from 'node:timers/promises';
import { MAX_SENT_BYTES } from '../../domain/sessions/sent-fields.ts';
import type { RunnerApi } from './api-client.ts';

/** The minimum time between two drafts of a session, in milliseconds. */
const MIN_INTERVAL_MS = 300;

const bytesOf = (text: string): number => Buffer.byteLength(JSON.stringify(text));

/** Starts with a whole word: redaction patterns cannot find a value whose start is missing. Empty if the last word alone is too long. */
const endOf = (text: string): string => {
  if (text.length <= MAX_SENT_BYTES && bytesOf(text) <= MAX_SENT_BYTES) return text;
  let end = text.slice(-MAX_SENT_BYTES);
  for (let bytes = bytesOf(end); bytes > MAX_SENT_BYTES; bytes = bytesOf(end))
    end = end.slice(Math.ceil((end.length * (bytes - MAX_SENT_BYTES)) / bytes));
  const word = end.search(/\s/);
  return word < 0 ? '' : end.slice(word);
};

type State = { next: string | null; sending: Promise<void> | null; pause: AbortController };

type Client = {
  readonly api: Pick<RunnerApi, 'draft'>;
  /** Replaces secrets that the runner knows. */
  readonly mask?: (text: string) => string;
};

const sendAll = async (state: State, send: (text: string) => Promise<void>): Promise<void> => {
  while (state.next !== null) {
    const text = state.next;
    state.next = null;
    await send(text).catch(() => {});
    await sleep(MIN_INTERVAL_MS, undefined, { signal: state.pause.signal, ref: false }).catch(() => {});
  }
  state.sending = null;
};

export type DraftWriter = {
  /** Shows a text, or the end of a longer one. At most three a second are sent; one that cannot be sent is lost. */
  readonly write: (text: string) => void;
  /** Drops what is not sent. Resolves when no draft can overtake what is sent from now on. */
  readonly settle: () => Promise<void>;
};

/** `path` is that of the session. */
export const createDraftWriter = ({ api, mask = (text) => text }: Client, path: string): DraftWriter => {
  const state: State = { next: null, sending: null, pause: new AbortController() };
  const send = async (text: string): Promise<void> => {
    const end = endOf(mask(text));
    if (end !== '' || text === '') await api.draft(`${path}/draft`, end);
  };
  return {
    write: (text) => {
      state.next = text;
      state.sending ??= sendAll(state, send);
    },
    settle: async () => {
      state.next = null;
      state.pause.abort();
      await state.sending;
      state.pause = new AbortController();
    },
  };
};
