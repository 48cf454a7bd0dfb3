/** The parts of a browser that the chaos page's timeline needs: canvases that record what is drawn on them. No pixels. */
import { runInNewContext } from 'node:vm';

export interface Drawn {
  readonly rects: readonly (readonly [x: number, y: number, width: number, height: number])[];
  readonly texts: readonly { readonly text: string; readonly x: number; readonly align: string }[];
}

type Listener = (event: Record<string, unknown>) => void;

class Canvas {
  readonly style: Record<string, string> = {};
  readonly #listeners = new Map<string, Listener[]>();
  #rects: [number, number, number, number][] = [];
  #texts: { text: string; x: number; align: string }[] = [];

  constructor(readonly clientWidth: number) {}

  get drawn(): Drawn {
    return { rects: this.#rects, texts: this.#texts };
  }

  getBoundingClientRect(): Readonly<Record<'left' | 'top' | 'width' | 'height', number>> {
    return { left: 0, top: 0, width: this.clientWidth, height: 400 };
  }

  /** The timeline calls it once for each drawing. */
  getContext(): object {
    [this.#rects, this.#texts] = [[], []];
    const nothing = (): void => undefined;
    const context = {
      textAlign: 'left',
      fillRect: (...rect: [number, number, number, number]) => this.#rects.push(rect),
      fillText: (text: string, x: number) => this.#texts.push({ text, x, align: context.textAlign }),
      measureText: (text: string) => ({ width: text.length * 7 }),
      ...Object.fromEntries(
        ['scale', 'save', 'restore', 'beginPath', 'rect', 'clip', 'strokeRect'].map((name) => [
          name,
          nothing,
        ]),
      ),
    };
    return context;
  }

  addEventListener(type: string, listener: Listener): void {
    this.#listeners.set(type, [...(this.#listeners.get(type) ?? []), listener]);
  }

  setPointerCapture(): void {
    // there is only one canvas for events
  }

  send(type: string, event: Readonly<Record<string, unknown>>): void {
    for (const listener of this.#listeners.get(type) ?? []) listener({ type, preventDefault() {}, ...event });
  }
}

export interface Timeline {
  readonly lines: Canvas;
  readonly map: Canvas;
  readonly tip: { textContent: string };
}

/** Runs the script of a page, on canvases of this width. */
export function open(html: string, width: number): Timeline {
  const between = (from: string): string => html.split(from)[1]?.split('</script>')[0] ?? '';
  const timeline = {
    lines: new Canvas(width),
    map: new Canvas(width),
    tip: { textContent: '', offsetWidth: 100, style: {} },
  };
  const data = { textContent: between('id="data">') };
  const nothing = (): void => undefined;
  runInNewContext(between('<script type="module">'), {
    document: {
      documentElement: {},
      getElementById: (id: string) => ({ ...timeline, data })[id as keyof Timeline | 'data'],
      querySelectorAll: () => [],
    },
    getComputedStyle: () => ({ getPropertyValue: (name: string) => name }),
    matchMedia: () => ({ addEventListener: nothing }),
    addEventListener: nothing,
    devicePixelRatio: 1,
    innerWidth: width,
  });
  return timeline;
}
