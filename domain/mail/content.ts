import type { AutomaticKind } from './automatic-mail.ts';

/** Always stored encrypted. The addresses have no display names. */
export type MailContent = {
  readonly from: string;
  /** As the message states it. Absent in messages of earlier versions. */
  readonly from_name?: string | null;
  /** Null if a person has written it. Absent in earlier versions. */
  readonly automatic?: AutomaticKind | null;
  readonly to: readonly string[];
  readonly cc: readonly string[];
  readonly subject: string;
  readonly text: string;
  readonly html: string | null;
  /** `header_id`: this message's Message-ID, if any. `references`: those of the earlier messages of the conversation, oldest first. */
  readonly header_id: string | null;
  readonly references: readonly string[];
};

/** The tenant's file store contains the bytes, under the digest `sha256`. */
export type MailFile = {
  readonly attachment_id: string;
  readonly filename: string;
  readonly content_type: string;
  readonly size_bytes: number;
  readonly sha256: string;
};

/** In characters, for text and HTML each; what is longer becomes an attachment. */
export const MAX_TEXT = 100_000;
export const MAX_HTML = 200_000;

/** The maximum number of Message-IDs in the References header of a reply: the first one and the last ones. */
const MAX_REFERENCES = 20;

export const headerIdOf = (message_id: string, domain: string): string => `<${message_id}@${domain}>`;

const SENT_HEADER_ID = /^<(c[a-z0-9]{24})@/;

/** Null if no agent can have sent a message with this Message-ID. */
export const sentIdIn = (header_id: string): string | null => SENT_HEADER_ID.exec(header_id)?.[1] ?? null;

/** Message-IDs, oldest first. */
export const referencesTo = ({ header_id, references }: Pick<MailContent, 'header_id' | 'references'>): readonly string[] => {
  const all = header_id === null ? references : [...references, header_id];
  return all.length <= MAX_REFERENCES ? all : [all[0]!, ...all.slice(1 - MAX_REFERENCES)];
};
