import type { Rows } from '../../areas.ts';
import type { ReplyOf } from '../../http/ask.ts';
import { type Child, tags } from './tags.ts';

const { bdi, span } = tags;

type Preview = ReplyOf<Rows['listTenantDeliveries']>[number]['preview'];

/**
 * Renders the preview of a payload on one line; null if there is none. The names of its fields are shown on hover. Each
 * value has its own direction of text, so that it does not reorder what is beside it.
 */
export const payloadPreview = (preview: Preview): Child =>
  preview === null || preview.length === 0
    ? null
    : span({ class: 'preview' }, ...preview.flatMap(({ name, value }, n) => [n > 0 ? ' · ' : null, bdi({ title: name }, value)]));
