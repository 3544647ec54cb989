import type { Logger } from 'pino';
import type { ParsedMail } from '../../commands/mail/accept-mail.ts';
import type { Authentication } from '../../domain/deliveries/mail-origin.ts';
import { entryPoint } from '../program.ts';
import { createTaskThread, type TaskError } from '../threads/task-thread.ts';
import { AUTHENTICATION_TIMEOUT_MS, type Envelope, NOT_CHECKED } from './check-sender.ts';
import type { MailTask, MailTaskResult } from './mail-worker.ts';
import { answer, type SmtpError, tryLater } from './message/smtp-answer.ts';
import type { SenderTask } from './sender-worker.ts';

/** The limits for the parsing of one message, in milliseconds: of processor time, and of time on a busy machine. */
const PARSE_CPU_LIMIT_MS = 5_000;
const PARSE_TIME_LIMIT_MS = 20_000;
const MAX_PARSE_BYTES = 256 * 1024 * 1024;
/** A sender is checked for at most this time after the DNS has answered, in milliseconds. */
const CHECK_TIME_LIMIT_MS = 5_000;
const MAX_CHECK_BYTES = 256 * 1024 * 1024;
/** How many senders are checked at the same time. Most of the time, the checks wait for the DNS. */
const MAX_CHECKS = 16;
/** How many messages for one tenant can wait. */
const MAX_WAITING = 20;

const SHORT_REASON = 100;

const answerFor = ({ kind, message }: TaskError): SmtpError => {
  if (kind === 'failed') return answer(554, `5.6.0 The message cannot be parsed: ${message.slice(0, SHORT_REASON)}`);
  if (kind === 'time' || kind === 'memory') return answer(554, `5.6.0 The message is too complex: ${message} to parse it`);
  return tryLater('Too many messages arrive at the same time: try again');
};

/** `owner` is the tenant whose mailbox it is. The bytes are moved to the threads. */
export type Arrived = { readonly owner: string; readonly raw: ArrayBuffer; readonly envelope: Envelope };

/** @throws SmtpError */
export type InspectMail = (arrived: Arrived) => Promise<{ readonly mail: ParsedMail; readonly authentication: Authentication }>;

export type MailThreadsOptions = { readonly logger: Pick<Logger, 'warn'>; readonly cpuLimitMs?: number; readonly maxBytes?: number };

/** One thread parses messages, one at a time, with tenants taking turns. The other checks senders, several at a time. */
export const createMailThreads = ({ logger, cpuLimitMs = PARSE_CPU_LIMIT_MS, maxBytes = MAX_PARSE_BYTES }: MailThreadsOptions) => {
  const parser = createTaskThread<MailTask, MailTaskResult>({
    script: entryPoint('infra/mail/mail-worker.ts'),
    ...{ cpuLimitMs, timeLimitMs: PARSE_TIME_LIMIT_MS, maxMemoryBytes: maxBytes, maxWaiting: MAX_WAITING },
  });
  const checker = createTaskThread<SenderTask, Authentication>({
    script: entryPoint('infra/mail/sender-worker.ts'),
    timeLimitMs: AUTHENTICATION_TIMEOUT_MS + CHECK_TIME_LIMIT_MS,
    ...{ maxMemoryBytes: MAX_CHECK_BYTES, maxRunning: MAX_CHECKS },
  });

  const parse = (owner: string, raw: ArrayBuffer, sender: string): Promise<MailTaskResult> =>
    parser.run(owner, { raw, sender }, [raw]).catch((error: TaskError) => {
      logger.warn({ reason: error.message, kind: error.kind }, 'a message was not parsed');
      throw answerFor(error);
    });

  const check = (owner: string, raw: ArrayBuffer, envelope: Envelope): Promise<Authentication> =>
    checker.run(owner, { raw, envelope }, [raw]).catch((error: TaskError) => {
      logger.warn({ reason: error.message, kind: error.kind }, 'the sender of a message was not checked');
      return NOT_CHECKED;
    });

  const inspect: InspectMail = async ({ owner, raw, envelope }) => {
    const parsed = await parse(owner, raw, envelope.sender);
    return { mail: parsed.mail, authentication: await check(owner, parsed.raw, envelope) };
  };

  const close = (): void => {
    parser.close();
    checker.close();
  };
  return { inspect, close };
};
