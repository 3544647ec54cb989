import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { storableMail } from '../../infra/mail/storable-mail.ts';
import { CHARSET_MAILS } from './corpus/charset-mails.ts';
import type { CorpusMail } from './corpus/corpus-mail.ts';
import { HTML_MAILS } from './corpus/html-mails.ts';
import { PART_MAILS } from './corpus/part-mails.ts';
import { STRUCTURE_MAILS } from './corpus/structure-mails.ts';

const latin1 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1');

const becomes = async ({ name, source, mail, ...expected }: CorpusMail): Promise<void> => {
  const raw = Uint8Array.from(Buffer.from(mail, 'latin1')).buffer;
  const { content, files } = await storableMail(raw, 'envelope@example.com');
  const found = { ...content, files: files.map(({ filename, content_type, bytes }) => [filename, content_type, latin1(bytes)]) };
  for (const [field, value] of Object.entries(expected))
    assert.equal(found[field as keyof typeof found], value, `${name} (${source}): ${field}`);
};

const becomeAll = (mails: readonly CorpusMail[]) => async (): Promise<void> => {
  const failures: string[] = [];
  for (const mail of mails)
    await becomes(mail).catch((error: Error) => failures.push(`${error.message}\n${(error as { details?: string }).details ?? ''}`));
  assert.is(failures.length, 0, `\n${failures.join('\n')}`);
};

test('every part of a mail that is not the body is a file with its bytes, name and type', becomeAll(PART_MAILS));
test('nothing of a mail is lost if its structure or encoding is unusual or broken', becomeAll(STRUCTURE_MAILS));
test('bodies and headers can be read whatever their charset and encoding', becomeAll(CHARSET_MAILS));
test('the text of mail in HTML has the words as a mail program shows them', becomeAll(HTML_MAILS));

test.run();
