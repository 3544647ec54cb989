import type { Recorded } from '../event.ts';
import type { MessageBody } from './message-body.ts';

/** Names of CloudEvents attributes consist of lower-case letters and digits. */
export type Message = MessageBody & {
  readonly agent: string;
  readonly delivery: string | null;
  /** Only for events of a session. */
  readonly session?: string;
  /** Only for messages of a cron job. */
  readonly occurrence?: string;
  readonly attributes: Readonly<Record<string, string>>;
};

/** `type`: the CloudEvents type; `summary`: for the AsyncAPI document; `isSent`: which events are sent, without it all. */
export type RunnerMessageType = {
  readonly type: string;
  readonly summary: string;
  readonly isSent?: (event: Recorded) => boolean;
  readonly message: (event: Recorded, publicUrl: string) => Message;
};
