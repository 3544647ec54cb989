/**
 * The maximum size of a text to the runner, in bytes of JSON. The text and the list of its files fit into one message of
 * the broker.
 */
export const MAX_SENT_BYTES = 40_960;

/**
 * The fields of every event that is sent to the runner. `title` is the title of the session. `previous` is the id of the
 * event of this session that was sent before (null if there is none); the runner processes that one first.
 */
export type SentFields = { title: string | null; previous: string | null };
