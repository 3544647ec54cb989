import type { Recorded } from '../event.ts';
import type { MessageBody } from './message-body.ts';

/**
 * A message for a runner: its body and its CloudEvents attributes. The names of attributes consist of lower-case
 * letters and digits.
 */
export type Message = MessageBody & {
  readonly agent: string;
  /** The delivery to which the message belongs; null if there is none. */
  readonly delivery: string | null;
  /** The session to which the message belongs; absent unless it is an event of a session. */
  readonly session?: string;
  /** The id of the occurrence; absent unless it is the message of a cron job. */
  readonly occurrence?: string;
  readonly attributes: Readonly<Record<string, string>>;
};

/**
 * How events of one type become messages to runners. `type` is the CloudEvents type, `summary` the text in the AsyncAPI
 * document. `isSent` selects the events that are sent; without it, all are.
 */
export type RunnerMessageType = {
  readonly type: string;
  readonly summary: string;
  readonly isSent?: (event: Recorded) => boolean;
  readonly message: (event: Recorded, publicUrl: string) => Message;
};
