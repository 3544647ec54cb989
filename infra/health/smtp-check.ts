import { once } from 'node:events';
import { connect } from 'node:net';
import { withoutBlobStore } from '../blobs/blob-store.ts';
import type { Config } from '../config.ts';
import { fail, none, ok, type Result } from './finding.ts';

const TIMEOUT_MS = 4_000;

/** Checks whether the server for outgoing mail answers, and accepts the user and the password. Opens one connection. */
export const checkSmtp = async ({ smtpUrl }: Pick<Config, 'smtpUrl'>): Promise<Result> => {
  if (!smtpUrl) return none('SMTP_URL is not set: mail is sent only within the platform');
  const { createSmtpClient } = await import('../mail/smtp-client.ts');
  const client = createSmtpClient(smtpUrl, withoutBlobStore);
  try {
    await client.verify();
    return ok(`${new URL(smtpUrl).host} accepts mail from this platform`);
  } catch (error) {
    const { code } = error as { code?: string };
    if (code === 'EAUTH') return fail('the mail server refuses the user or the password', 'correct the user and the password in SMTP_URL');
    if (code === 'ETLS') return fail('the mail server offers no safe TLS', 'correct the scheme and the port in SMTP_URL');
    return fail('the mail server does not answer', 'start it, allow connections to it, or correct SMTP_URL');
  } finally {
    client.close();
  }
};

export const checkMailReceiver = async ({ smtpListen }: Pick<Config, 'smtpListen'>): Promise<Result> => {
  if (!smtpListen) return none('SMTP_LISTEN is not set: no mail is received from outside');
  const { host, port } = smtpListen;
  const socket = connect({ host, port });
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const [greeting] = (await once(socket, 'data', { signal })) as [Buffer];
    return greeting.toString('latin1').startsWith('220 ')
      ? ok('annals serve receives mail')
      : fail(`another service answers at ${host}:${port}`, 'correct SMTP_LISTEN');
  } catch {
    return fail(`nothing answers at ${host}:${port}`, 'start annals serve with SMTP_LISTEN, or correct it');
  } finally {
    socket.destroy();
  }
};
