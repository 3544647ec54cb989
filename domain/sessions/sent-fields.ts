/**
 * What an event contains that is sent to the runner of the agent: the title of the session, and the id of the event of
 * this session that was sent before it (null if there is none), after which the runner is to process it.
 */
export type SentFields = { title: string | null; previous: string | null };
