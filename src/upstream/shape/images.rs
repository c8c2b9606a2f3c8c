//! Images of results, made as small as a model sees them. It maps coordinates by what it is told of the original.

use std::io::Cursor;

use image::codecs::jpeg::JpegEncoder;
use image::{DynamicImage, ImageDecoder as _, ImageFormat, ImageReader, Limits, Rgb, RgbImage};

/// A model sees no more pixels than this in either direction.
const LONGEST_SIDE: u32 = 2000;
/// And no more bytes: as base64 they are 5 MB.
const LARGEST: usize = 3_750_000;
/// An image of more pixels is not decoded: a few bytes may stand for gigabytes of them.
const MOST_PIXELS: u64 = 40_000_000;
/// What decoding one may take.
const MOST_MEMORY: u64 = 256 << 20;
/// Tried one after another, where a PNG is too large.
const QUALITIES: [u8; 4] = [80, 60, 40, 20];
/// An image that is too large in every quality is made half as wide and high, so often.
const MOST_HALVES: u32 = 3;

type Size = (u32, u32);

/// What becomes of an image.
pub(super) enum FittedImage {
    /// It is small enough, or nothing that we know.
    AsItIs,
    Smaller {
        bytes: Vec<u8>,
        ending: &'static str,
        original: Size,
        shown: Size,
    },
    /// It is broken, or too large to be made smaller.
    NotDecoded(Size),
}

/// Whatever kind of image the server says it is, its bytes say what it is.
pub(super) fn fitted(bytes: &[u8]) -> FittedImage {
    let reader = || ImageReader::new(Cursor::new(bytes)).with_guessed_format().ok();
    let Some((width, height)) = reader().and_then(|reader| reader.into_dimensions().ok()) else {
        return FittedImage::AsItIs;
    };
    if width.max(height) <= LONGEST_SIDE && bytes.len() <= LARGEST {
        return FittedImage::AsItIs;
    }
    if u64::from(width) * u64::from(height) > MOST_PIXELS {
        return FittedImage::NotDecoded((width, height));
    }
    let smaller = reader().and_then(decoded).and_then(|(image, format)| smaller(&image, format));
    smaller.unwrap_or(FittedImage::NotDecoded((width, height)))
}

/// The image as it is to be looked at: cameras write how they were held beside it.
fn decoded(mut reader: ImageReader<Cursor<&[u8]>>) -> Option<(DynamicImage, ImageFormat)> {
    let format = reader.format()?;
    let mut limits = Limits::default();
    limits.max_alloc = Some(MOST_MEMORY);
    reader.limits(limits);
    let mut decoder = reader.into_decoder().ok()?;
    if decoder.total_bytes() > MOST_MEMORY {
        return None;
    }
    let orientation = decoder.orientation().ok()?;
    let mut image = DynamicImage::from_decoder(decoder).ok()?;
    image.apply_orientation(orientation);
    Some((image, format))
}

fn smaller(image: &DynamicImage, format: ImageFormat) -> Option<FittedImage> {
    let original = (image.width(), image.height());
    let is_photograph = format == ImageFormat::Jpeg;
    (0..MOST_HALVES).find_map(|halves| {
        let side = LONGEST_SIDE >> halves;
        let fits = original.0.max(original.1) <= side;
        let shown = if fits { image.clone() } else { image.thumbnail(side, side) };
        let (bytes, ending) = encoded(&shown, is_photograph)?;
        Some(FittedImage::Smaller { bytes, ending, original, shown: (shown.width(), shown.height()) })
    })
}

/// The best of what is small enough.
fn encoded(image: &DynamicImage, is_photograph: bool) -> Option<(Vec<u8>, &'static str)> {
    let is_small = |bytes: &Vec<u8>| bytes.len() <= LARGEST;
    if !is_photograph && let Some(png) = png(image).filter(is_small) {
        return Some((png, "png"));
    }
    let opaque = on_white(image);
    let jpeg = |quality: u8| {
        let mut bytes = vec![];
        JpegEncoder::new_with_quality(&mut bytes, quality).encode_image(&opaque).ok()?;
        Some(bytes)
    };
    QUALITIES.iter().find_map(|quality| jpeg(*quality).filter(is_small)).map(|bytes| (bytes, "jpg"))
}

fn png(image: &DynamicImage) -> Option<Vec<u8>> {
    let plain = match image.color().has_alpha() {
        true => DynamicImage::ImageRgba8(image.to_rgba8()),
        false => DynamicImage::ImageRgb8(image.to_rgb8()),
    };
    let mut bytes = Cursor::new(vec![]);
    plain.write_to(&mut bytes, ImageFormat::Png).ok()?;
    Some(bytes.into_inner())
}

/// A JPEG has nothing to see through.
fn on_white(image: &DynamicImage) -> RgbImage {
    if !image.color().has_alpha() {
        return image.to_rgb8();
    }
    let clear = image.to_rgba8();
    RgbImage::from_fn(clear.width(), clear.height(), |x, y| {
        let [red, green, blue, alpha] = clear.get_pixel(x, y).0;
        let blend = |colour: u8| {
            let mixed = u16::from(colour) * u16::from(alpha) + 255 * (255 - u16::from(alpha));
            u8::try_from(mixed / 255).unwrap_or(u8::MAX)
        };
        Rgb([blend(red), blend(green), blend(blue)])
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use image::{Rgba, RgbaImage};
    use proptest::prelude::*;

    fn written(image: &DynamicImage, format: ImageFormat) -> Vec<u8> {
        let mut bytes = Cursor::new(vec![]);
        image.write_to(&mut bytes, format).unwrap();
        bytes.into_inner()
    }

    /// No two pixels have to do with each other, so that nothing makes them few bytes.
    fn noise(width: u32, height: u32) -> DynamicImage {
        let mut state = 7_u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state.to_be_bytes()[0]
        };
        DynamicImage::ImageRgb8(RgbImage::from_fn(width, height, |_, _| Rgb([next(), next(), next()])))
    }

    fn dimensions(bytes: &[u8]) -> (Size, ImageFormat) {
        let reader = ImageReader::new(Cursor::new(bytes)).with_guessed_format().unwrap();
        let format = reader.format().unwrap();
        (reader.into_dimensions().unwrap(), format)
    }

    #[test]
    fn an_image_of_too_many_pixels_keeps_its_form_and_one_that_fits_its_bytes() {
        for format in [ImageFormat::Png, ImageFormat::Gif, ImageFormat::WebP] {
            let wide = DynamicImage::ImageRgba8(RgbaImage::from_pixel(2500, 20, Rgba([1, 2, 3, 4])));
            let FittedImage::Smaller { bytes, ending, original, shown } = fitted(&written(&wide, format)) else {
                panic!("{format:?} is not made smaller")
            };
            assert_eq!((ending, original, shown), ("png", (2500, 20), (2000, 16)), "{format:?}");
            assert_eq!(dimensions(&bytes), (shown, ImageFormat::Png));
        }
        let small = DynamicImage::new_rgb8(2000, 10);
        assert!(matches!(fitted(&written(&small, ImageFormat::Png)), FittedImage::AsItIs));
        assert!(matches!(fitted(b"<svg/>"), FittedImage::AsItIs));
    }

    #[test]
    fn an_image_of_too_many_bytes_loses_quality_and_no_pixels() {
        let bytes = written(&noise(1200, 1200), ImageFormat::Png);
        assert!(bytes.len() > LARGEST, "{}", bytes.len());
        let FittedImage::Smaller { bytes, ending, original, shown } = fitted(&bytes) else {
            panic!("as large as ever")
        };
        assert_eq!((ending, original, shown), ("jpg", (1200, 1200), (1200, 1200)));
        assert!(bytes.len() <= LARGEST);
        let photograph = written(&noise(2400, 100), ImageFormat::Jpeg);
        let FittedImage::Smaller { ending: "jpg", shown: (2000, 83), .. } = fitted(&photograph) else {
            panic!("a photograph stays one")
        };
    }

    #[test]
    fn an_image_that_would_fill_the_memory_is_not_decoded() {
        let mut bomb = written(&DynamicImage::new_luma8(1, 1), ImageFormat::Png);
        // The head says how wide and high it is, and its checksum is made to fit.
        bomb[16..20].copy_from_slice(&60_000_u32.to_be_bytes());
        bomb[20..24].copy_from_slice(&60_000_u32.to_be_bytes());
        let mut checksum = flate2::Crc::new();
        checksum.update(&bomb[12..29]);
        bomb[29..33].copy_from_slice(&checksum.sum().to_be_bytes());
        assert!(matches!(fitted(&bomb), FittedImage::NotDecoded((60_000, 60_000))));
        let mut broken = written(&DynamicImage::new_rgb8(2500, 10), ImageFormat::Png);
        broken.truncate(60);
        assert!(matches!(fitted(&broken), FittedImage::NotDecoded((2500, 10))));
    }

    proptest! {
        // Some of them are many pixels.
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn a_broken_image_breaks_nothing_else(
            place in 0..300_usize,
            bytes in proptest::collection::vec(any::<u8>(), 0..40),
            format in 0..4_usize,
        ) {
            let formats = [ImageFormat::Png, ImageFormat::Gif, ImageFormat::WebP, ImageFormat::Jpeg];
            let mut image = written(&DynamicImage::new_rgb8(2001, 3), formats[format]);
            for (at, byte) in image.iter_mut().skip(place).zip(bytes) {
                *at = byte;
            }
            drop(fitted(&image));
        }
    }
}
