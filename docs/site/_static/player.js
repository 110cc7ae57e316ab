// Plays a film (widgets/site/film.py) in the widgets' own stage.js, which needs a `model` to talk
// to. In a notebook that is a kernel; here it is the film: it knows every picture beforehand.
//
//   <div class="player" data-film="failover-ClusterView">   comes near the window:
//     films/failover-ClusterView-760.js ── brokerlab.film(name, film) ──> Model <── stage.js
//
// There is a film for each of a few widths. When a phone is turned, another one goes on from where
// this one is.
//
// Plain scripts, no modules and no fetch: so the site can also be read from a folder, without a
// server. What a film can't tell (read widgets/site/walk.py) is not offered.

(() => {
  const HERE = new URL(".", document.currentScript.src);
  const SLOW = 1 / 8;
  const NARROW = matchMedia("(max-width: 46em)");
  const CALM = matchMedia("(prefers-reduced-motion: reduce)");
  const REST = 2500; // milliseconds at the end, before what plays by itself begins anew
  const WIDTHS = [880, 760, 560, 340]; // as in widgets/site/film.py
  const SETTLED = 200; // milliseconds after which a width is taken that changes
  const waiting = new Map(); // who asked for a film, by its name
  const known = new Map(); // films that are here, by their name

  // -- a film's pictures ----------------------------------------------------------------------

  // widgets/site/delta.py has the words for it.
  function applied(before, steps) {
    const after = [];
    let place = 0;
    for (const step of steps) {
      if (typeof step === "number") {
        if (step > 0) after.push(...before.slice(place, place + step));
        place += Math.abs(step);
      } else if (typeof step[0] === "string") after.push(step);
      else {
        const row = [...before[place++]];
        row[4] = applied(row[4], step[0]);
        after.push(row);
      }
    }
    return after;
  }

  // Each picture in full; what they have in common is there once.
  function developed(film) {
    let now = { shapes: [] };
    return film.frames.map(({ steps, ...told }) => {
      now = { ...now, ...told, shapes: applied(now.shapes, steps) };
      return now;
    });
  }

  // -- what stage.js talks to -----------------------------------------------------------------

  class Model {
    constructor(film, element) {
      this.element = element;
      this.listeners = new Map();
      this.traits = { name: film.name, said: "" };
      this.speed = 0;
      this.slow = false;
      this.seen = false; // somebody can see it
      this.alone = false; // it plays by itself, and nobody has touched it yet
      this.turn = this.turn.bind(this);
      this.head = Infinity;
      this.wind(film);
      this.stop(this.last);
      NARROW.addEventListener("change", () => this.show(this.place));
    }

    // The same film in another width, from the same moment on.
    wind(film) {
      this.film = film;
      this.frames = developed(film);
      // Room for the tallest picture, or the page would jump while one goes through them.
      const sizes = this.frames.map(({ size }) => size);
      this.element.style.setProperty("--room", `${sizes[0][0]} / ${Math.max(...sizes.map((it) => it[1]))}`);
      this.show(this.until(this.head));
    }

    get(name) {
      return this.traits[name];
    }
    on(name, listener) {
      this.listeners.set(name, [...(this.listeners.get(name) ?? []), listener]);
    }
    off(name, listener) {
      this.listeners.set(name, (this.listeners.get(name) ?? []).filter((it) => it !== listener));
    }
    set() {} // the page writes nothing
    save_changes() {}

    send(message) {
      if ("watch" in message) {
        this.seen = message.on;
        if (this.speed) this.run();
        return;
      }
      if ("width" in message) return; // a film's pictures are there beforehand
      this.alone = false;
      this.acts[message.act]?.call(this, message.on);
    }

    // -- the picture ----------------------------------------------------------------------

    show(place) {
      this.place = place;
      const { shapes, size, title, at, steps, controls, ...others } = this.frames[place];
      if (this.alone) delete others.said; // who didn't ask for it needn't hear it
      this.tell("scene", JSON.stringify({ size, title, shapes }));
      for (const [name, value] of Object.entries(others)) this.tell(name, value);
      this.tell("controls", this.buttons(controls));
      this.element.classList.toggle("playing", this.speed > 0);
    }

    tell(name, value) {
      if (this.traits[name] === value) return;
      this.traits[name] = value;
      for (const listener of this.listeners.get(`change:${name}`) ?? []) listener();
    }

    buttons(told) {
      const found = told.map((control) => {
        if (control.act === "play" && this.speed) return this.film.playing;
        if (control.act === "slow_motion") return { ...control, pressed: this.slow };
        return control;
      });
      if (!NARROW.matches || !this.film.acts.includes("seek")) return found;
      // A finger needs more than a timeline of three millimetres.
      const value = this.head / this.film.span;
      return [...found, { kind: "slider", act: "seek", label: "time", value, least: 0, most: 1, step: 0.002 }];
    }

    // -- time -----------------------------------------------------------------------------

    get last() {
      return this.frames.length - 1;
    }

    // The last picture that was there at a time.
    until(at) {
      let [low, high] = [0, this.frames.length];
      while (low < high) {
        const middle = (low + high) >> 1;
        if (this.frames[middle].at <= at) low = middle + 1;
        else high = middle;
      }
      return Math.max(low - 1, 0);
    }

    stop(place) {
      this.speed = 0;
      this.head = this.frames[place].at;
      this.show(place);
    }

    run() {
      this.clock = performance.now();
      cancelAnimationFrame(this.due);
      if (this.seen) this.due = requestAnimationFrame(this.turn);
    }

    // One look at the clock: the head moves on, and with it the picture.
    turn(now) {
      if (!this.speed || !this.seen) return;
      const passed = now - this.clock;
      const { pace } = this.film;
      const place = pace ? this.place + Math.floor(passed / pace) : this.until(this.head + passed * this.speed);
      if (!pace) this.head += passed * this.speed;
      if (!pace || place !== this.place) this.clock = now;
      if (place > this.place) {
        if (pace) this.head = this.frames[Math.min(place, this.last)].at;
        if (place >= this.last) return this.end();
        this.show(place);
      }
      this.due = requestAnimationFrame(this.turn);
    }

    end() {
      this.stop(this.last);
      if (this.alone) setTimeout(() => this.alone && this.begin(), REST);
    }

    // By itself, for whoever has only just come: from where something happens first.
    begin() {
      this.alone = true;
      this.stop(this.film.stops[1] ?? 0);
      this.acts.play.call(this);
    }

    acts = {
      seek(share) {
        this.stop(this.until(share * this.film.span));
      },
      frame(place) {
        this.stop(Number(place));
      },
      begin() {
        this.stop(0);
      },
      live() {
        this.stop(this.last);
      },
      back() {
        this.stop(this.film.stops.findLast((it) => it < this.place) ?? 0);
      },
      forward() {
        this.stop(this.film.stops.find((it) => it > this.place) ?? this.last);
      },
      play() {
        if (this.speed) return this.stop(this.place);
        if (this.place >= this.last) this.stop(0);
        this.speed = this.slow ? SLOW : 1;
        this.show(this.place);
        this.run();
      },
      slow_motion() {
        this.slow = !this.slow;
        if (this.speed) this.speed = this.slow ? SLOW : 1;
        this.show(this.place);
      },
    };
  }

  // -- on the page ----------------------------------------------------------------------------

  function open(element) {
    const { at, moves } = element.dataset;
    load(element, (film) => {
      const model = new Model(film, element);
      if (at !== undefined) model.acts.seek.call(model, Number(at));
      const still = element.querySelector("img");
      brokerlab.render({ model, el: element });
      still?.remove();
      if (moves !== undefined && !CALM.matches) model.begin();
      let due;
      new ResizeObserver(() => {
        clearTimeout(due);
        due = setTimeout(() => load(element, (other) => other !== model.film && model.wind(other)), SETTLED);
      }).observe(element);
    });
  }

  // The widest film that has room, or the narrowest.
  function load(element, tell) {
    const width = WIDTHS.find((it) => it <= element.clientWidth) ?? WIDTHS.at(-1);
    const name = `${element.dataset.film}-${width}`;
    if (known.has(name)) return tell(known.get(name));
    waiting.set(name, [...(waiting.get(name) ?? []), tell]);
    if (waiting.get(name).length > 1) return;
    const script = document.createElement("script");
    script.src = new URL(`films/${name}.js`, HERE);
    script.onerror = () => {
      element.append("The film could not be loaded: is its file beside this page?");
    };
    document.head.append(script);
  }

  brokerlab.film = (name, film) => {
    known.set(name, film);
    for (const tell of waiting.get(name) ?? []) tell(film);
    waiting.delete(name);
  };

  const near = new IntersectionObserver(
    (entries) => {
      for (const entry of entries.filter((it) => it.isIntersecting)) {
        near.unobserve(entry.target);
        open(entry.target);
      }
    },
    { rootMargin: "400px" },
  );
  addEventListener("DOMContentLoaded", () => {
    for (const each of document.querySelectorAll(".player")) near.observe(each);
  });
})();
