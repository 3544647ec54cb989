import { chunksOf } from '../../bodies/received-body.ts';
import { firstHeader, type SignatureScheme, type SignedRequest } from './signature-scheme.ts';

type MessageField = 'body' | 'timestamp' | 'id';

const FIELD = /\{(body|timestamp|id)\}/;

type Part = { readonly text: Uint8Array } | { readonly field: MessageField };

const partsOf = (template: string): Part[] =>
  template
    .split(FIELD)
    .map((text, index): Part => (index % 2 === 1 ? { field: text as MessageField } : { text: Buffer.from(text) }))
    .filter((part) => 'field' in part || part.text.length > 0);

/**
 * Builds the signed bytes by a template with `{body}`, and optionally `{timestamp}` and `{id}`, such as `v0:{timestamp}:{body}`. The
 * function returns null if a request has none of `idHeaders`.
 */
export const signedMessage = (template: string, idHeaders: readonly string[] = []): SignatureScheme['message'] => {
  const parts = partsOf(template);
  const bytesOf = (field: MessageField, request: SignedRequest, timestamp: string): readonly Uint8Array[] | null => {
    if (field === 'body') return chunksOf(request.body);
    const text = field === 'timestamp' ? timestamp : firstHeader(request, idHeaders);
    return text ? [Buffer.from(text)] : null;
  };
  if (parts.length === 1) return ({ body }) => chunksOf(body);
  return (request, timestamp) => {
    const message = parts.map((part) => ('field' in part ? bytesOf(part.field, request, timestamp) : [part.text]));
    return message.every((part) => part !== null) ? message.flat() : null;
  };
};
