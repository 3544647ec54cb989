import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { documentFiles, documentText } from '../fixtures/documents.ts';

/** A sentence of the documentation that a user can check, or a row of one of its tables, with its heading and its test. */
export type Promised = {
  /** The heading of the section, without its number signs. */
  readonly at: string;
  readonly says: string;
  readonly file?: string;
  readonly test?: string;
  /** The test proves only a part of the promise, or proves it only for a part of the platform. */
  readonly part?: true;
  /** Why no test proves the promise. */
  readonly unproven?: string;
};

/** The promises that are listed. A promise that several tests prove is listed once for each. */
export const promises = (): Promised[] =>
  readFileSync(join(import.meta.dirname, 'promises.jsonl'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Promised);

export type Section = { readonly heading: string; readonly text: string };

const withoutCode = (text: string): string => text.replace(/^ *```.*?^ *```$/gms, '\n');
const inOneLine = (text: string): string => text.replace(/\s+/g, ' ');

const sectionsOf = (file: string): Section[] =>
  withoutCode(documentText(file))
    .split(/^(?=#{1,4} )/m)
    .map((text) => {
      const [, heading = '', rest = ''] = /^#+ ([^\n]*)\n(.*)$/s.exec(text) ?? [];
      return { heading, text: inOneLine(rest) };
    });

/** Returns the sections of the README and of docs/, without their code, each as one line. */
export const documentedSections = (): Section[] => documentFiles.flatMap(sectionsOf);
