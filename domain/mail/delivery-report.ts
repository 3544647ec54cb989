/**
 * A recipient who, as a mail server reports, will never get a message. `reason` is an SMTP code such as `550`, or a
 * status such as `5.1.1`.
 */
export type FailedRecipient = { readonly address: string; readonly reason: string };

/**
 * A report of a mail server about a message that it had accepted before: the id of the message, taken from its
 * Message-ID header, and the recipients who did not get it.
 */
export type DeliveryReport = { readonly message_id: string; readonly failed: readonly FailedRecipient[] };

/** The maximum number of recipients that are taken from a report. An agent cannot send a message to more. */
const MAX_FAILED = 1_000;

const OWN_HEADER_ID = /^message-id:\s*<(c[a-z0-9]{24})@/im;
const unfolded = (text: string): string => text.replaceAll(/\r\n?/g, '\n').replaceAll(/\n[ \t]+/g, ' ');

/** Returns the fields of one recipient, with their names in lower case. */
const fieldsOf = (group: string): ReadonlyMap<string, string> =>
  new Map([...group.matchAll(/^([\w-]+):[ \t]*(.*)$/gm)].map(([, name, value]) => [name!.toLowerCase(), value!.trim()]));

const failureIn = (group: string): FailedRecipient[] => {
  const fields = fieldsOf(group);
  const [, address] =
    /^rfc822;\s*<?([^\s<>]+@[^\s<>]+?)>?$/i.exec(fields.get('final-recipient') ?? fields.get('original-recipient') ?? '') ?? [];
  const status = fields.get('status') ?? '';
  if (!address || fields.get('action')?.toLowerCase() !== 'failed' || !status.startsWith('5')) return [];
  const [, code] = /\b(5\d\d)\b/.exec(fields.get('diagnostic-code') ?? '') ?? [];
  return [{ address, reason: code ?? /^5\.\d{1,3}\.\d{1,3}/.exec(status)?.[0] ?? '5' }];
};

/**
 * Reads a delivery status notification (RFC 3464). `status` is its part `message/delivery-status`, and `original` the
 * part with the headers of the reported message. Returns null if the message was not sent by this platform, or if the
 * report names no recipient for whom delivery has failed for good (a delay is no failure).
 */
export const deliveryReport = (status: string, original: string): DeliveryReport | null => {
  const message_id = OWN_HEADER_ID.exec(unfolded(original))?.[1];
  // The first group of fields is about the whole message, and the others are about one recipient each.
  const [, ...groups] = unfolded(status).trim().split(/\n\n+/);
  const failed = groups.flatMap(failureIn).slice(0, MAX_FAILED);
  return message_id === undefined || failed.length === 0 ? null : { message_id, failed };
};
