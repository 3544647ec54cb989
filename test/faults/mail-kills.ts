import { setTimeout as sleep } from 'node:timers/promises';
import { createTransport, type Transporter } from 'nodemailer';
import { freePort } from '../../infra/supervision/ports.ts';
import { startClientRunner } from './client-runner.ts';
import type { OutageReport } from './outage-trial.ts';
import { expectReply, type KillablePlatform } from './running-platform.ts';
import { type Agent, createAgent, createTenant } from './tenants.ts';

const CONCURRENCY = 8;
const RETRY_DELAY_MS = 200;
const SENDING_TIMEOUT_MS = 300_000;
const DONE_TIMEOUT_MS = 300_000;
/** The time between two kills. A shorter one makes the supervisor restart the processes with growing delays. */
const PAUSE_MS = 3_500;
/** After everything is delivered, nothing more may happen for this long. */
const QUIET_MS = 4_000;
const PAGE_SIZE = 200;
const SUBJECT = /^message (\d+)$/;

export type MailFaultOptions = { readonly port: number; readonly messages: number; readonly kills: number };

/** Calls `use` with a free port and the environment variables with which the platform receives mail at this port. */
export const withMailPort = async (use: (port: number, variables: NodeJS.ProcessEnv) => Promise<void>): Promise<void> => {
  const port = await freePort();
  await use(port, { MAIL_DOMAIN: 'mail.test', SMTP_LISTEN: String(port) });
};

const contentOf = (number: number): string => `the file of message ${number}`;

const SENDER = 'ada@example.com';
const composer = createTransport({ streamTransport: true, buffer: true });

/** Composes the message with this number. A repeat must have the same bytes, but composing it again changes its boundary. */
const compose = async (to: string, number: number): Promise<Buffer> => {
  const { message } = await composer.sendMail({
    ...{ from: SENDER, to, subject: `message ${number}`, text: 'Text', messageId: `<${number}@example.com>` },
    attachments: [{ filename: `${number}.txt`, content: contentOf(number) }],
  });
  return message as Buffer;
};

/** Sends a message until it gets 250. @returns the number of attempts; 0 if none succeeded */
const sendUntilAnswered = async (client: Transporter, to: string, number: number): Promise<number> => {
  const end = Date.now() + SENDING_TIMEOUT_MS;
  const message = { envelope: { from: SENDER, to }, raw: await compose(to, number) };
  for (let attempts = 1; Date.now() < end; attempts++) {
    const isAnswered = await client.sendMail(message).then(
      () => true,
      () => false,
    );
    if (isAnswered) return attempts;
    await sleep(RETRY_DELAY_MS);
  }
  return 0;
};

/** Sends all messages, evenly over `durationMs`. @returns the number of attempts for each */
const sendAll = async ({ port, messages }: MailFaultOptions, { tenant, slug }: Agent, durationMs: number): Promise<number[]> => {
  const attempts: number[] = [];
  const start = Date.now();
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < messages) {
      const number = next++;
      await sleep(Math.max(0, start + (number * durationMs) / messages - Date.now()));
      const client = createTransport({ host: '127.0.0.1', port, ignoreTLS: true });
      attempts[number] = await sendUntilAnswered(client, `${slug}.${tenant.slug}@mail.test`, number);
      client.close();
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, work));
  return attempts;
};

type StoredMail = { readonly id: string; readonly subject: string; readonly attachments: readonly { readonly id: string }[] };

const pathOf = ({ tenant, id }: Agent): string => `/tenant/${tenant.id}/agents/${id}`;

/** Reads all messages of the agent, page by page. */
const readMessages = async (platform: KillablePlatform, agent: Agent): Promise<StoredMail[]> => {
  const messages: StoredMail[] = [];
  for (let next: string | undefined = `${pathOf(agent)}/messages?limit=${PAGE_SIZE}`; next; ) {
    const { headers, text } = await platform.call('GET', next, undefined, agent.tenant);
    messages.push(...(JSON.parse(text) as StoredMail[]));
    next = /<([^>]+)>; rel="next"/.exec(headers.get('link') ?? '')?.[1]?.replace(/^https?:\/\/[^/]+/, '');
  }
  return messages;
};

/** Returns a message for each stored message whose only attachment cannot be read or has another content. */
const wrongAttachments = async (platform: KillablePlatform, agent: Agent, messages: readonly StoredMail[]): Promise<string[]> => {
  const wrong: string[] = [];
  for (const { subject, attachments } of messages) {
    const [file] = attachments;
    const content = file && (await platform.call('GET', `${pathOf(agent)}/attachments/${file.id}`, undefined, agent.tenant)).text;
    const number = Number(SUBJECT.exec(subject)?.[1]);
    if (attachments.length !== 1 || content !== contentOf(number)) wrong.push(`the attachment of ${subject} is ${content}`);
  }
  return wrong;
};

const recordedIds = async (platform: KillablePlatform, { tenant }: Agent): Promise<string[]> => {
  const log = platform.openLog();
  const ids: string[] = [];
  for await (const { type, event_id, meta } of log.readAll()) if (type === 'MailReceived' && meta.tenant === tenant.id) ids.push(event_id);
  await log.close();
  return ids;
};

/** Returns the subjects that occur more often than once. */
const repeatedIn = (subjects: readonly string[]): string[] =>
  [...Map.groupBy(subjects, (subject) => subject)].filter(([, all]) => all.length > 1).map(([subject]) => subject);

const missingIn = (messages: number, subjects: readonly string[]): string[] => {
  const known = new Set(subjects);
  return Array.from({ length: messages }, (_, number) => `message ${number}`).filter((subject) => !known.has(subject));
};

const createReceiver = async (platform: KillablePlatform): Promise<Agent> => {
  const agent = await createAgent(platform, await createTenant(platform), 'agent');
  await expectReply(platform.call('PATCH', `/tenant/${agent.tenant.id}`, { external_mail_enabled: true }, agent.tenant), 200);
  await expectReply(platform.call('POST', '/admin/mail/heal', { service: 'external' }), 200);
  return agent;
};

const killInTurn = async (platform: KillablePlatform, kills: number): Promise<void> => {
  for (let count = 0; count < kills; count++) {
    await sleep(PAUSE_MS);
    await platform.kill(count % 2 === 0 ? 'serve' : 'work');
  }
};

/**
 * Sends messages with attachments by SMTP while the processes `serve` and `work` are killed in turn (`npm run faults -- --only mail-kills`). Each
 * message is repeated until it gets 250. Then it must be in the log once, with its attachment, and have one effect at
 * the runner of its agent; and after that, nothing more may be recorded or delivered.
 */
export const runMailKills = async (platform: KillablePlatform, options: MailFaultOptions): Promise<OutageReport> => {
  const { messages, kills } = options;
  const agent = await createReceiver(platform);
  const subjects = new Map<string, string>();
  const runner = await startClientRunner(platform, agent, {
    before: async ({ id, data }) => {
      subjects.set(id, String((data as { subject?: string }).subject));
    },
  });
  const [attempts] = await Promise.all([sendAll(options, agent, kills * PAUSE_MS), killInTurn(platform, kills)]);
  const isDone = async (): Promise<boolean> =>
    runner.effects().length >= messages && (await readMessages(platform, agent).catch(() => [])).length >= messages;
  for (const end = Date.now() + DONE_TIMEOUT_MS; !(await isDone()) && Date.now() < end; ) await sleep(1_000);
  const atBreak = { runs: runner.commandRuns().length, recorded: (await recordedIds(platform, agent)).length };
  await sleep(QUIET_MS);
  const [stored, recorded] = [await readMessages(platform, agent), await recordedIds(platform, agent)];
  const storedSubjects = stored.map(({ subject }) => subject);
  const delivered = runner.effects().map((id) => subjects.get(id)!);
  const late = runner.commandRuns().length - atBreak.runs + recorded.length - atBreak.recorded;
  return {
    findings: {
      lost: [
        ...missingIn(messages, storedSubjects).map((subject) => `${subject} is not recorded`),
        ...missingIn(messages, delivered).map((subject) => `${subject} has no effect`),
        ...(await wrongAttachments(platform, agent, stored)),
      ],
      duplicated: [
        ...repeatedIn(storedSubjects).map((subject) => `${subject} is recorded more than once`),
        ...repeatedIn(delivered).map((subject) => `${subject} has more than one effect`),
      ],
      unexpected: [
        ...[...attempts.keys()].filter((number) => !attempts[number]).map((number) => `message ${number} never got 250`),
        ...(recorded.length === stored.length ? [] : [`${recorded.length} events, but ${stored.length} messages`]),
        ...(late === 0 ? [] : [`${late} messages were recorded or delivered after everything was done`]),
      ],
      outOfOrder: [],
    },
    figures: {
      'kills of serve and work': kills,
      'messages that got 250': attempts.filter((count) => count > 0).length,
      'attempts to send': attempts.reduce((sum, count) => sum + count, 0),
      'messages in the log': recorded.length,
      'messages with an effect': delivered.length,
      "runs of the runner's handler": runner.commandRuns().length,
    },
  };
};
