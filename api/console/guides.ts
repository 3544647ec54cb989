export type GuideFile = { readonly type: `${string}/${string}`; readonly bytes: Uint8Array<ArrayBuffer>; readonly etag: string };

/** The files of the documentation. */
export type GuideFiles = {
  readonly readme: string;
  /** The Markdown texts of the pages, by their names without extension. */
  readonly pages: ReadonlyMap<string, string>;
  /** The pictures and programs, by their paths below docs/. */
  readonly files: ReadonlyMap<string, GuideFile>;
};

/** `id`: the anchor of the heading. The levels begin with 1, the title of the page. */
export type GuideHeading = { readonly level: number; readonly text: string; readonly id: string };

export type Guide = { readonly name: string; readonly title: string; readonly text: string; readonly headings: readonly GuideHeading[] };

/** Guides for the same readers. `list`: their links and descriptions, in Markdown. */
export type GuideGroup = { readonly title: string; readonly list: string; readonly guides: readonly Guide[] };

export type Guides = {
  readonly groups: readonly GuideGroup[];
  /** The guides in the order in which the contents page lists them. */
  readonly all: ReadonlyMap<string, Guide>;
  readonly files: GuideFiles['files'];
};

/** Returns the anchor of a heading, as GitHub makes it from the text. */
export const anchorOf = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-');

/** Returns a function that makes the anchors of the headings of a page, in their order. Equal ones get a number. */
export const createAnchors = (): ((text: string) => string) => {
  const counts = new Map<string, number>();
  return (text) => {
    const anchor = anchorOf(text);
    const count = counts.get(anchor) ?? 0;
    counts.set(anchor, count + 1);
    return count === 0 ? anchor : `${anchor}-${count}`;
  };
};

const withoutMarks = (text: string): string => text.replaceAll(/`|\*\*/g, '').replace(/\[([^\]]*)\]\([^)]*\)/g, '$1');

/** Returns the headings of a page. The pages need not be parsed for that, which takes some milliseconds for each. */
const headingsIn = (text: string): readonly GuideHeading[] => {
  const anchor = createAnchors();
  return [...text.replace(/^ *```.*?^ *```$/gms, '').matchAll(/^(#{1,6}) +(.+?) *$/gm)].map(([, marks, words]) => {
    const plain = withoutMarks(words!);
    return { level: marks!.length, text: plain, id: anchor(plain) };
  });
};

const guideOf = (name: string, text: string): Guide => {
  const headings = headingsIn(text);
  return { name, text, headings, title: headings[0]?.text ?? name };
};

const CONTENTS = '## Where to read on\n';
const GROUP = /^\*\*(.+)\*\*\n\n((?:(?!\*\*|MIT ).*\n)*)/gm;
const LINK = /\]\(docs\/([\w-]+)\.md\)/g;

/** Makes the guides from the files. README.md says which readers need which, and in which order. */
export const openGuides = ({ readme, pages, files }: GuideFiles): Guides => {
  const known = new Map([...pages].map(([name, text]) => [name, guideOf(name, text)]));
  const [, contents = ''] = readme.split(CONTENTS);
  const groups = [...contents.matchAll(GROUP)].map(([, title, list]) => ({
    title: title!,
    list: list!,
    guides: [...list!.matchAll(LINK)].flatMap(([, name]) => known.get(name!) ?? []),
  }));
  return { groups, files, all: new Map(groups.flatMap(({ guides }) => guides).map((guide) => [guide.name, guide])) };
};

export const guidePath = (name: string, anchor = ''): string => `/guides/${name}${anchor === '' ? '' : `#${anchor}`}`;

/** A heading that a search has found. `guide`: the title of its page; null if it is the title itself. */
export type FoundGuide = { readonly href: string; readonly label: string; readonly guide: string | null };

/** Finds guides by their titles and headings. `matches` says whether a text is searched for. Titles come first. */
export const findGuides = ({ all }: Guides, matches: (text: string) => boolean): readonly FoundGuide[] => {
  const found = [...all.values()].flatMap(({ name, title, headings }) =>
    headings
      .filter(({ text }) => matches(text))
      .map(({ level, text, id }) =>
        level === 1 ? { href: guidePath(name), label: text, guide: null } : { href: guidePath(name, id), label: text, guide: title },
      ),
  );
  return found.toSorted((one, other) => Number(one.guide !== null) - Number(other.guide !== null));
};
