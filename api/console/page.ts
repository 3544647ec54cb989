import type { Answer } from '../http/ask.ts';
import type { IconName } from './parts/icon.ts';
import type { Child } from './parts/tags.ts';
import type { Visit } from './visit.ts';

/** The answers of a page's calls; null for a call that was not made. */
type Answers = Readonly<Record<string, Answer<unknown> | null>>;
type Calls<T extends Answers> = { readonly [Name in keyof T]: Promise<T[Name]> };

type PageOf<T extends Answers> = {
  readonly path: string;
  /** The permission on the tenant that the page needs, `platform`, or `any` for a page of every visitor. */
  readonly permit: string;
  /** The navigation entry under which the page lies. */
  readonly nav: string;
  /** The categories of streams whose events change the page; `*` for all of them. */
  readonly categories?: readonly string[] | '*';
  /** Whether the page shows values that are no events, so that it asks for them again every two seconds. */
  readonly polls?: true;
  /** Starts the calls of the page. The visitor sees the 404 page if the first one answers 403 or 404. */
  readonly asks: (visit: Visit) => Calls<T>;
  readonly title: (answers: T, visit: Visit) => string;
  /** The way to the page: names and paths of the pages above it. */
  readonly trail?: (visit: Visit) => readonly (readonly [string, string])[];
  readonly view: (answers: T, visit: Visit) => readonly Child[];
};

export type Page = PageOf<Answers>;

/** Defines a page: what it asks the API, and how it shows the answers. */
export const page = <T extends Answers>(row: PageOf<T>): Page => row as unknown as Page;

/** An entry of the navigation. */
export type NavEntry = {
  readonly label: string;
  readonly icon: IconName;
  readonly path: string;
  readonly permit: string;
  readonly hotkey?: string;
};
