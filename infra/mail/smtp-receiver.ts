import type { AddressInfo } from 'node:net';
import type { Logger } from 'pino';
import { SMTPServer, type SMTPServerDataStream, type SMTPServerSession } from 'smtp-server';
import { type AcceptPorts, acceptMail, recipientAt } from '../../commands/mail/accept-mail.ts';
import type { Unreachable } from '../../commands/mail/recipient.ts';
import { Refusal } from '../../domain/refusal.ts';
import { checkSender, parseMail } from './parse-mail.ts';

/** The maximum size of a message in bytes: an attachment of 25 MiB in Base64, and the text. */
export const MAX_MESSAGE_BYTES = 36 * 1024 * 1024;
/** The maximum number of bytes of incoming messages in memory, for all connections together. */
const MAX_BUFFERED_BYTES = 4 * MAX_MESSAGE_BYTES;
const MAX_RECIPIENTS = 50;
const MAX_CLIENTS = 100;
const SOCKET_TIMEOUT_MS = 60_000;
const CLOSE_TIMEOUT_MS = 5_000;

type SmtpError = Error & { responseCode: number };

const answer = (responseCode: number, text: string): SmtpError => Object.assign(new Error(text), { responseCode });

const REFUSALS: Readonly<Record<Unreachable, string>> = {
  unknown: '5.1.1 There is no such mailbox',
  no_mailbox: '5.1.1 There is no such mailbox',
  external_mail_off: '5.7.1 The mailbox accepts no external mail',
  tenant_suspended: '5.2.1 The mailbox is disabled',
  agent_inactive: '5.2.1 The mailbox is disabled',
  mailbox_paused: '5.2.1 The mailbox is disabled',
};

/** Returns the SMTP answer for an address that cannot get mail. */
const refusalOf = (unreachable: Unreachable): SmtpError => answer(550, REFUSALS[unreachable]);

const tryLater = (text: string): SmtpError => answer(451, `4.3.0 ${text}`);

const isSmtpError = (error: unknown): error is SmtpError => error instanceof Error && 'responseCode' in error;

export type SmtpReceiverParts = AcceptPorts & {
  readonly listen: { readonly host: string; readonly port: number };
  readonly logger: Pick<Logger, 'warn' | 'info'>;
};

/**
 * Creates a reader that reads messages into memory. If there is not enough memory for a message, the rest of the
 * message is read and dropped.
 */
const createBuffers = () => {
  let buffered = 0;
  /**
   * Reads a message.
   * @throws SmtpError 552 if the message is too large, 452 if the memory for messages is used up at present
   */
  const read = async (stream: SMTPServerDataStream): Promise<{ raw: Buffer; release: () => void }> => {
    const chunks: Buffer[] = [];
    let size = 0;
    let isFull = false;
    const release = (): void => {
      buffered -= size;
      size = 0;
    };
    try {
      for await (const chunk of stream as AsyncIterable<Buffer>) {
        isFull ||= size + chunk.length > MAX_MESSAGE_BYTES || buffered + chunk.length > MAX_BUFFERED_BYTES;
        if (isFull) continue;
        chunks.push(chunk);
        size += chunk.length;
        buffered += chunk.length;
      }
    } catch (error) {
      release();
      throw error;
    }
    if (!isFull && !stream.sizeExceeded) return { raw: Buffer.concat(chunks), release };
    const isTooLarge = stream.sizeExceeded || size + 1 > MAX_MESSAGE_BYTES;
    release();
    throw isTooLarge
      ? answer(552, `5.3.4 The message has more than ${MAX_MESSAGE_BYTES} bytes`)
      : answer(452, '4.3.1 Too many messages arrive at the same time: try again');
  };
  return { read };
};

/**
 * Converts an error to the answer for the client. An error that the client did not cause is logged, and the answer
 * tells the client to try again.
 */
const answerFor = (error: unknown, logger: SmtpReceiverParts['logger']): SmtpError => {
  if (isSmtpError(error)) return error;
  if (error instanceof Refusal && error.code === 'rate_limited') return tryLater('Too many messages: try again later');
  logger.warn({ reason: (error as Error).message }, 'mail cannot be accepted now');
  return tryLater('The message cannot be recorded now');
};

const senderOf = ({ envelope }: SMTPServerSession): string => (envelope.mailFrom ? envelope.mailFrom.address : '');

/** Records a message for all its recipients. @throws SmtpError, Refusal, LogError */
const receive = async (parts: SmtpReceiverParts, raw: Buffer, session: SMTPServerSession): Promise<void> => {
  const sender = senderOf(session);
  const envelope = { ip: session.remoteAddress, helo: String(session.hostNameAppearsAs ?? ''), sender, mta: parts.domain };
  const mail = await parseMail(raw, sender).catch((error: Error) => {
    throw answer(554, `5.6.0 The message cannot be parsed: ${error.message.slice(0, 100)}`);
  });
  const authentication = await checkSender(raw, envelope);
  const addresses = session.envelope.rcptTo.map(({ address }) => address);
  const unreachable = await acceptMail(parts, addresses, mail, authentication);
  if (unreachable) throw refusalOf(unreachable);
};

/**
 * Receives mail by SMTP. A message gets 250 only after the log contains it for all its recipients. An address that
 * cannot get mail is refused with 550. The promise resolves when the server listens.
 */
export const startSmtpReceiver = async (parts: SmtpReceiverParts): Promise<{ port: number; close: () => Promise<void> }> => {
  const { listen, logger, domain } = parts;
  const buffers = createBuffers();

  const checkRecipient = async (address: string, { envelope }: SMTPServerSession): Promise<void> => {
    if (envelope.rcptTo.length >= MAX_RECIPIENTS) throw answer(452, `4.5.3 A message has at most ${MAX_RECIPIENTS} recipients`);
    const found = await recipientAt(parts, address);
    if ('unreachable' in found) throw refusalOf(found.unreachable);
  };

  const accept = async (stream: SMTPServerDataStream, session: SMTPServerSession): Promise<void> => {
    const { raw, release } = await buffers.read(stream);
    try {
      await receive(parts, raw, session);
    } finally {
      release();
    }
  };

  const server = new SMTPServer({
    name: domain,
    banner: 'Annals',
    size: MAX_MESSAGE_BYTES,
    disabledCommands: ['AUTH', 'STARTTLS'],
    authOptional: true,
    disableReverseLookup: true,
    maxClients: MAX_CLIENTS,
    socketTimeout: SOCKET_TIMEOUT_MS,
    closeTimeout: CLOSE_TIMEOUT_MS,
    logger: false,
    onRcptTo: ({ address }, session, callback) =>
      void checkRecipient(address, session).then(
        () => callback(),
        (error: unknown) => callback(answerFor(error, logger)),
      ),
    onData: (stream, session, callback) =>
      void accept(stream, session).then(
        () => callback(null, 'Message recorded'),
        (error: unknown) => callback(answerFor(error, logger)),
      ),
  });
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
  return { port, close: () => new Promise((resolve) => server.close(() => resolve())) };
};
