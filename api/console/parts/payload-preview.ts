import type { PreviewField } from '../../../domain/webhooks/payload-preview.ts';
import { type Child, tags } from './tags.ts';

const { span } = tags;

/** Renders the preview of a payload on one line; null if there is none. The names of its fields are shown on hover. */
export const payloadPreview = (preview: readonly PreviewField[] | null): Child =>
  preview === null || preview.length === 0
    ? null
    : span({ class: 'preview' }, ...preview.flatMap(({ name, value }, n) => [n > 0 ? ' · ' : null, span({ title: name }, value)]));
