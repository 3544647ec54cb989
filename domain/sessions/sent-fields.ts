/** A text to the runner, in bytes of JSON: with the list of its files, it fits into one message of the broker. */
export const MAX_SENT_BYTES = 40_960;

/**
 * In every event that is sent to the runner. `title` of the session. `previous`: the event sent before (null if none); the runner
 * processes it first.
 */
export type SentFields = { title: string | null; previous: string | null };
