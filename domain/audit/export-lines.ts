import { createHash } from 'node:crypto';
import { leafHash } from './merkle-tree.ts';

/** infra/audit/verify-audit-export.mjs verifies and describes this format. */
export const EXPORT_FORMAT = 'annals export v2';

export type ExportKind = 'manifest' | 'key' | 'event' | 'head' | 'proof' | 'end';

/** Each line has its line break. `text` is the JSON text of the content; `end` returns the last line, with the SHA-256 of all lines before. */
export const createExportLines = () => {
  const hash = createHash('sha256');
  let count = 0;
  const lineOf = (kind: ExportKind, text: string): string => `{"line":${++count},"digest":"${leafHash(text)}","${kind}":${text}}\n`;
  return {
    line: (kind: ExportKind, text: string): string => {
      const line = lineOf(kind, text);
      hash.update(line);
      return line;
    },
    end: (): string => lineOf('end', JSON.stringify({ lines: count, sha256: hash.digest('hex') })),
  };
};
