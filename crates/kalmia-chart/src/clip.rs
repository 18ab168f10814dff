//! Curves cut at the edges of a frame.

use crate::scene::Point;

/// A coordinate farther out is moved here, so that differences stay finite.
const FAR: f64 = 1e6;

/// The parts of a curve inside the unit square. Coordinates may be infinite; a point that is NaN
/// interrupts the curve.
pub fn curve(points: &[Point]) -> Vec<Vec<Point>> {
    let mut parts: Vec<Vec<Point>> = Vec::new();
    let mut joined = false;
    for pair in points.windows(2) {
        let Some((from, to)) = segment(near(pair[0]), near(pair[1])) else {
            joined = false;
            continue;
        };
        match parts.last_mut().filter(|part| joined && part.last() == Some(&from)) {
            Some(part) => part.push(to),
            None => parts.push(vec![from, to]),
        }
        joined = true;
    }
    parts
}

/// The curve moved into the unit square point by point, exact for an area below or between curves:
/// points are added where it crosses the upper or lower edge.
pub fn edge(points: &[Point]) -> Vec<Point> {
    let mut out = Vec::new();
    for (i, &point) in points.iter().enumerate() {
        let point = near(point);
        if let Some(before) = i.checked_sub(1).map(|i| near(points[i])) {
            let mut crossings: Vec<f64> = [0.0, 1.0]
                .into_iter()
                .map(|level| (level - before.y) / (point.y - before.y))
                .filter(|t| *t > 0.0 && *t < 1.0)
                .collect();
            crossings.sort_by(f64::total_cmp);
            out.extend(crossings.into_iter().map(|t| between(before, point, t)));
        }
        out.push(point);
    }
    out.iter().map(|p| Point::new(p.x.clamp(0.0, 1.0), p.y.clamp(0.0, 1.0))).collect()
}

fn near(point: Point) -> Point {
    Point::new(point.x.clamp(-FAR, FAR), point.y.clamp(-FAR, FAR))
}

fn between(from: Point, to: Point, t: f64) -> Point {
    // the ends themselves, so that neighboring segments meet
    if t == 0.0 {
        return from;
    }
    if t == 1.0 {
        return to;
    }
    Point::new(from.x + t * (to.x - from.x), from.y + t * (to.y - from.y))
}

/// The part of a segment inside the unit square (Liang and Barsky).
fn segment(from: Point, to: Point) -> Option<(Point, Point)> {
    let mut start = 0.0f64;
    let mut end = 1.0f64;
    for (at, step) in [(from.x, to.x - from.x), (from.y, to.y - from.y)] {
        // moving towards the upper edge, then towards the lower one
        for (room, speed) in [(1.0 - at, step), (at, -step)] {
            if speed > 0.0 {
                end = end.min(room / speed);
            } else if speed < 0.0 {
                start = start.max(room / speed);
            } else if !(room >= 0.0 && speed == 0.0) {
                return None;
            }
        }
    }
    (start <= end).then(|| (between(from, to, start), between(from, to, end)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(values: &[[f64; 2]]) -> Vec<Point> {
        values.iter().map(|&[x, y]| Point::new(x, y)).collect()
    }

    #[test]
    fn what_is_inside_stays_and_what_is_outside_goes() {
        let inside = points(&[[0.0, 0.2], [0.5, 1.0], [1.0, 0.0]]);
        assert_eq!(curve(&inside), [inside]);
        assert!(curve(&points(&[[0.0, 2.0], [1.0, 3.0]])).is_empty());
        // up through the top edge at x = 0.25 and back at 0.75
        let parts = curve(&points(&[[0.0, 0.5], [0.5, 1.5], [1.0, 0.5]]));
        assert_eq!(parts, [points(&[[0.0, 0.5], [0.25, 1.0]]), points(&[[0.75, 1.0], [1.0, 0.5]])]);
    }

    #[test]
    fn infinite_values_leave_by_the_edge_and_nan_interrupts() {
        let parts = curve(&points(&[[0.0, 0.5], [0.5, f64::INFINITY], [1.0, 0.5]]));
        assert_eq!(parts.len(), 2);
        assert!(parts.iter().flatten().all(|p| (0.0..=1.0).contains(&p.y)));
        assert!((parts[0][1].x).abs() < 1e-6 && parts[0][1].y == 1.0);
        let broken = points(&[[0.0, 0.5], [0.2, 0.5], [0.4, f64::NAN], [0.6, 0.5], [0.8, 0.5]]);
        assert_eq!(curve(&broken).len(), 2);
    }

    #[test]
    fn an_edge_turns_where_it_crosses() {
        let edge = edge(&points(&[[0.0, 0.5], [1.0, 2.5]]));
        assert_eq!(edge, points(&[[0.0, 0.5], [0.25, 1.0], [1.0, 1.0]]));
    }
}
