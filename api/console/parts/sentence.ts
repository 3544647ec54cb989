import type { HistoryEntry } from '../../http/history-schemas.ts';
import { type Child, tags } from './tags.ts';

const { a, strong } = tags;

/** Returns the path to what a part of a sentence names; null if there is none. */
export type PathTo = (named: { readonly type: string; readonly id: string }) => string | null;

type Sentence = { readonly sentence: NonNullable<HistoryEntry['sentence']> };

/** Renders a sentence, with links to what it names where a page is known. */
export const sentenceParts = ({ sentence }: Sentence, pathTo: PathTo | undefined): readonly Child[] =>
  sentence.map(({ text, kind, id }) => {
    if (kind === null) return text;
    const path = id === null ? null : (pathTo?.({ type: kind, id }) ?? null);
    return path === null ? strong(null, text) : a({ href: path, class: 'named' }, text);
  });
