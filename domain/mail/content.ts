import type { AutomaticKind } from './automatic-mail.ts';

/** The content of a message. It is always stored encrypted. The addresses in it have no display names. */
export type MailContent = {
  readonly from: string;
  /** The name of the sender, as the message states it. Absent in messages that were stored by earlier versions. */
  readonly from_name?: string | null;
  /** What kind of automatic message this is; null if a person has written it. Absent in earlier versions. */
  readonly automatic?: AutomaticKind | null;
  readonly to: readonly string[];
  readonly cc: readonly string[];
  readonly subject: string;
  readonly text: string;
  readonly html: string | null;
  /**
   * `header_id` is the Message-ID in the header of this message (null if it has none). `references` are the Message-IDs
   * of the earlier messages of the conversation, oldest first.
   */
  readonly header_id: string | null;
  readonly references: readonly string[];
};

/** A file of a message. The file store of the tenant contains its bytes under the digest `sha256`. */
export type MailFile = {
  readonly attachment_id: string;
  readonly filename: string;
  readonly content_type: string;
  readonly size_bytes: number;
  readonly sha256: string;
};

/**
 * The maximum numbers of characters of the text and of the HTML in a message. A text or HTML that is longer becomes an
 * attachment.
 */
export const MAX_TEXT = 100_000;
export const MAX_HTML = 200_000;

/**
 * The maximum number of earlier messages in the References header of a reply. If there are more, the first one and the
 * last ones are kept.
 */
const MAX_REFERENCES = 20;

export const headerIdOf = (message_id: string, domain: string): string => `<${message_id}@${domain}>`;

const SENT_HEADER_ID = /^<(c[a-z0-9]{24})@/;

/** Returns the id of the sent message in a Message-ID; null if an agent cannot have sent it. */
export const sentIdIn = (header_id: string): string | null => SENT_HEADER_ID.exec(header_id)?.[1] ?? null;

/** Returns the Message-IDs for the References header of a reply, oldest first. */
export const referencesTo = ({ header_id, references }: Pick<MailContent, 'header_id' | 'references'>): readonly string[] => {
  const all = header_id === null ? references : [...references, header_id];
  return all.length <= MAX_REFERENCES ? all : [all[0]!, ...all.slice(1 - MAX_REFERENCES)];
};
