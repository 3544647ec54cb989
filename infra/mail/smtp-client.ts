import { Readable } from 'node:stream';
import { createTransport } from 'nodemailer';
import type { OutgoingMail, SmtpAnswer } from '../../commands/mail/deliver-mail.reactor.ts';
import { Refusal } from '../../domain/refusal.ts';
import type { BlobStore } from '../blobs/blob-store.ts';

const CONNECTION_TIMEOUT_MS = 15_000;
const SOCKET_TIMEOUT_MS = 60_000;

/** An error of nodemailer, with the fields that describe the server's answer. */
type SmtpError = Error & {
  readonly responseCode?: number;
  readonly code?: string;
  readonly recipient?: string;
  readonly rejectedErrors?: readonly SmtpError[];
};

const FIRST_PERMANENT_CODE = 500;

/** Only the code of the server's answer is kept, because its text can contain addresses. */
const answerFor = (address: string, { responseCode, code }: SmtpError): SmtpAnswer => ({
  address,
  reason: String(responseCode ?? code ?? 'unreachable').toLowerCase(),
  isPermanent: (responseCode ?? 0) >= FIRST_PERMANENT_CODE && code !== 'EAUTH',
});

const answersFor = (envelope: readonly string[], errors: readonly SmtpError[]): SmtpAnswer[] =>
  errors.flatMap((error) => envelope.filter((address) => address === error.recipient).map((address) => answerFor(address, error)));

/** @throws Refusal unavailable if the file is missing */
const openFile = async (blobs: BlobStore, tenant_id: string, sha256: string): Promise<Readable> => {
  const blob = await blobs.of(tenant_id).get(sha256);
  if (!blob) throw new Refusal('unavailable', `the stored content ${sha256} is missing`);
  return Readable.from(blob.content);
};

/** Texts that agents have written could otherwise make nodemailer read files or fetch URLs. */
const NO_ACCESS = { disableFileAccess: true, disableUrlAccess: true } as const;

/** The fields by which other programs know that no person has written a message, so that they do not answer it (RFC 3834). */
const automaticHeaders = (isAnswer: boolean): Record<string, string> => ({
  'Auto-Submitted': isAnswer ? 'auto-replied' : 'auto-generated',
  'X-Auto-Response-Suppress': 'All',
});

/** `url` is that of the server. Attached files are read from `blobs`. */
export const createSmtpClient = (url: string, blobs: BlobStore) => {
  const transport = createTransport({
    url,
    connectionTimeout: CONNECTION_TIMEOUT_MS,
    greetingTimeout: CONNECTION_TIMEOUT_MS,
    socketTimeout: SOCKET_TIMEOUT_MS,
    ...NO_ACCESS,
  } as Parameters<typeof createTransport>[0]);
  return {
    /** Returns the answers for refused addresses; if the server cannot be reached, one for every address. */
    send: async ({ content, envelope, files, tenant_id, sent_at }: OutgoingMail): Promise<readonly SmtpAnswer[]> => {
      const { from, to, cc, subject, text, html, header_id, references } = content;
      const attachments = await Promise.all(
        files.map(async ({ filename, content_type, sha256 }) => ({
          ...{ filename, contentType: content_type, content: await openFile(blobs, tenant_id, sha256) },
        })),
      );
      try {
        const { rejectedErrors = [] } = (await transport.sendMail({
          envelope: { from, to: [...envelope] },
          ...{ from, to: [...to], cc: [...cc], subject, text, ...(html === null ? {} : { html }) },
          ...(header_id === null ? {} : { messageId: header_id }),
          ...(references.length === 0 ? {} : { inReplyTo: references.at(-1)!, references: [...references] }),
          date: new Date(sent_at),
          headers: automaticHeaders(references.length > 0),
          attachments,
          ...NO_ACCESS,
        })) as { rejectedErrors?: readonly SmtpError[] };
        return answersFor(envelope, rejectedErrors);
      } catch (error) {
        const { rejectedErrors = [] } = error as SmtpError;
        if (rejectedErrors.length > 0) return answersFor(envelope, rejectedErrors);
        return envelope.map((address) => answerFor(address, error as SmtpError));
      }
    },
    /** Connects and signs in. @throws Error with the reason if that fails */
    verify: async (): Promise<void> => void (await transport.verify()),
    close: (): void => transport.close(),
  };
};
