import { icon } from './icon.ts';
import { type Child, element, tags } from './tags.ts';

const { button, div, input, label, output, span, ul } = tags;

const mark = () => span({ class: 'proof-mark', 'aria-hidden': 'true' }, icon('circle-check'), icon('circle-x'), icon('clock'));

const check = (attributes: Readonly<Record<string, string>>, label: string): Child =>
  element(
    'proof-check',
    attributes,
    button({ type: 'button', class: 'small' }, icon('fingerprint'), span(null, label)),
    mark(),
    output(null),
  );

/**
 * Renders a button that checks in the browser whether an entry of the audit log is included in a signed head (the
 * signed root hash of the log). Without JavaScript, it is hidden.
 */
export const entryProof = (tenant_id: string, { id, position }: { readonly id: string; readonly position: string }): Child =>
  check({ 'data-tenant': tenant_id, 'data-event': id, 'data-position': position }, 'Check the proof');

/**
 * Renders a button that checks a signed head in the browser: its signature, and whether its tree starts with the tree
 * of the previous head.
 */
export const headProof = (tenant_id: string, head: object, before: object | null): Child =>
  check(
    { 'data-tenant': tenant_id, 'data-head': JSON.stringify(head), ...(before ? { 'data-before': JSON.stringify(before) } : {}) },
    'Check the signature',
  );

/**
 * Renders a field for a file with proofs. The browser checks the file, and names the lines that do not verify.
 * Without JavaScript, it is hidden.
 */
export const exportCheck = (tenant_id: string): Child =>
  element(
    'export-check',
    { 'data-tenant': tenant_id },
    div(
      { class: 'field' },
      label({ for: 'export-file' }, 'A file with proofs'),
      input({ id: 'export-file', type: 'file', accept: '.jsonl,.txt,application/jsonl' }),
    ),
    div({ class: 'row' }, mark(), output(null)),
    ul({ class: 'quiet' }),
  );
