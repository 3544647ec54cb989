import type { AddressInfo, Socket } from 'node:net';
import type { Logger } from 'pino';
import { SMTPServer, type SMTPServerDataStream, type SMTPServerSession } from 'smtp-server';
import { type AcceptPorts, acceptMail, recipientAt } from '../../commands/mail/accept-mail.ts';
import type { Unreachable } from '../../commands/mail/recipient.ts';
import { slugsIn } from '../../domain/mail/address.ts';
import { Refusal } from '../../domain/refusal.ts';
import { createMailThreads, type InspectMail } from './mail-threads.ts';
import { MAX_MESSAGE_BYTES } from './message/message-shape.ts';
import { answer, isSmtpError, type SmtpError, tryLater } from './message/smtp-answer.ts';
import { createMessageReader } from './read-message.ts';
import { type ConnectionLimits, createConnectionLimits } from './smtp-connections.ts';

const MAX_RECIPIENTS = 50;
const SOCKET_TIMEOUT_MS = 60_000;
const CLOSE_TIMEOUT_MS = 5_000;

const REFUSALS: Readonly<Record<Unreachable, string>> = {
  unknown: '5.1.1 There is no such mailbox',
  no_mailbox: '5.1.1 There is no such mailbox',
  external_mail_off: '5.7.1 The mailbox accepts no external mail',
  tenant_suspended: '5.2.1 The mailbox is disabled',
  agent_inactive: '5.2.1 The mailbox is disabled',
  mailbox_paused: '5.2.1 The mailbox is disabled',
};

const refusalOf = (unreachable: Unreachable): SmtpError => answer(550, REFUSALS[unreachable]);

export type SmtpReceiverParts = AcceptPorts & {
  readonly listen: { readonly host: string; readonly port: number };
  readonly logger: Pick<Logger, 'warn' | 'info'>;
  readonly limits?: Partial<ConnectionLimits>;
};

/** An error that the client did not cause is logged, and the answer asks the client to try again. */
const answerFor = (error: unknown, logger: SmtpReceiverParts['logger']): SmtpError => {
  if (isSmtpError(error)) return error;
  if (error instanceof Refusal && error.code === 'rate_limited') return tryLater('Too many messages: try again later');
  logger.warn({ reason: (error as Error).message }, 'mail cannot be accepted now');
  return tryLater('The message cannot be recorded now');
};

const senderOf = ({ envelope }: SMTPServerSession): string => (envelope.mailFrom ? envelope.mailFrom.address : '');

/** Returns the slug of the tenant whose mailbox is the first recipient. */
const ownerOf = ({ envelope }: SMTPServerSession, domain: string): string => slugsIn(envelope.rcptTo[0]!.address, domain)?.tenant ?? '';

type Received = { readonly owner: string; readonly raw: ArrayBuffer; readonly session: SMTPServerSession };

/** Records a message for all its recipients. @throws SmtpError, Refusal, LogError */
const receive = async (parts: SmtpReceiverParts, inspect: InspectMail, { owner, raw, session }: Received): Promise<void> => {
  const sender = senderOf(session);
  const envelope = { ip: session.remoteAddress, helo: String(session.hostNameAppearsAs ?? ''), sender, mta: parts.domain };
  const { mail, authentication } = await inspect({ owner, raw, envelope });
  const addresses = session.envelope.rcptTo.map(({ address }) => address);
  const unreachable = await acceptMail(parts, addresses, mail, authentication);
  if (unreachable) throw refusalOf(unreachable);
};

/** `status` is counted for the metrics. `memory` is that of messages that are not recorded yet. */
export type SmtpReceiver = {
  readonly port: number;
  readonly close: () => Promise<void>;
  readonly status: () => ReturnType<ReturnType<typeof createConnectionLimits>['status']> & {
    readonly memory: ReturnType<ReturnType<typeof createMessageReader>['usage']>;
  };
};

/**
 * Receives mail by SMTP. A message gets 250 only after the log contains it for all its recipients. An address that
 * cannot get mail is refused with 550. The promise resolves when the server listens.
 */
export const startSmtpReceiver = async (parts: SmtpReceiverParts): Promise<SmtpReceiver> => {
  const { listen, logger, domain } = parts;
  const messages = createMessageReader();
  const connections = createConnectionLimits(parts.limits);
  const { inspect, close: closeThreads } = createMailThreads({ logger });

  const checkRecipient = async (address: string, { envelope }: SMTPServerSession): Promise<void> => {
    if (envelope.rcptTo.length >= MAX_RECIPIENTS) throw answer(452, `4.5.3 A message has at most ${MAX_RECIPIENTS} recipients`);
    const found = await recipientAt(parts, address);
    if ('unreachable' in found) throw refusalOf(found.unreachable);
  };

  const accept = async (stream: SMTPServerDataStream, session: SMTPServerSession): Promise<void> => {
    const owner = ownerOf(session, domain);
    const { raw, release } = await messages.read(owner, stream);
    onSocket(session, connections.pause);
    try {
      await receive(parts, inspect, { owner, raw, session });
    } finally {
      release();
    }
  };

  const onSocket = ({ id }: SMTPServerSession, use: (socket: Socket) => void): void => {
    for (const connection of server.connections) if (connection.id === id) use(connection._socket);
  };

  const server: SMTPServer = new SMTPServer({
    name: domain,
    banner: 'Annals',
    size: MAX_MESSAGE_BYTES,
    disabledCommands: ['AUTH', 'STARTTLS'],
    authOptional: true,
    disableReverseLookup: true,
    socketTimeout: SOCKET_TIMEOUT_MS,
    closeTimeout: CLOSE_TIMEOUT_MS,
    logger: false,
    onMailFrom: (_, session, callback) => {
      onSocket(session, connections.begin);
      callback();
    },
    onRcptTo: ({ address }, session, callback) =>
      void checkRecipient(address, session).then(
        () => callback(),
        (error: unknown) => callback(answerFor(error, logger)),
      ),
    onData: (stream, session, callback) =>
      void accept(stream, session)
        .then(
          () => callback(null, 'Message recorded'),
          (error: unknown) => callback(answerFor(error, logger)),
        )
        .finally(() => onSocket(session, connections.finish)),
  });
  server.server.prependListener('connection', connections.admit);
  server.on('error', (error: Error) => logger.warn({ reason: error.message }, 'a connection of SMTP failed'));
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(listen.port, listen.host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  const { port } = server.server.address() as AddressInfo;
  logger.info({ port }, 'receiving mail');
  const close = async (): Promise<void> => {
    await new Promise<void>((resolve) => server.close(() => resolve()));
    closeThreads();
  };
  return { port, close, status: () => ({ ...connections.status(), memory: messages.usage() }) };
};
